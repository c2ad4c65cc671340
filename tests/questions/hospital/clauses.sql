-- Every clause of a question, alone and together.

-- How many people there are.
SELECT COUNT(*) FROM people;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- How many people have been here at least once.
SELECT COUNT(DISTINCT person_id) FROM visits;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- The same count under another name.
SELECT COUNT(*) AS patients FROM people AS p WHERE p.smoker;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Keywords in any case, a semicolon and a comment.
select count(*) /* all of them */ from PEOPLE where SEX = 'F' -- women;
;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Visits by ward, most first.
SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward ORDER BY visits DESC, ward;
--but> every public key appears
--but> rows without a public key are left out
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, all wards.ward of ward
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- Groups by position.
SELECT ward, urgent, COUNT(*) FROM visits WHERE urgent IS NOT NULL GROUP BY 1, 2 HAVING COUNT(*) > 0 ORDER BY 1, 2;
--but> rows without a public key are left out
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, all wards.ward of ward × False/True of urgent
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- Groups by alias.
SELECT UPPER(doctor) AS who, COUNT(*) AS n FROM visits GROUP BY who ORDER BY n DESC, who;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: selected privately, by upper(doctor)
--plan> rows scaled to L2² 41 rows in parts of 1/131072: L1 704374636544, Linf 839270, L2² 704374636544; DiscreteGaussian
--plan> units weighted by their groups in steps of 1/1024: L1 3548, Linf 1024, L2² 1048576; DiscreteGaussian

-- Groups by an expression that is repeated.
SELECT severity >= 4, COUNT(*) FROM visits WHERE severity IS NOT NULL GROUP BY severity >= 4;
--plan> reads visits; protects person_id, at most 12 rows in 2 groups, 12 in one
--plan> groups: public, False/True of greater_equal(severity, 4)
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- Groups by everything that is not an aggregate.
SELECT blood, smoker, COUNT(*) AS n FROM people WHERE smoker IS NOT NULL GROUP BY ALL ORDER BY ALL;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by blood, smoker
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- Groups by all, without ordering by all.
SELECT blood, COUNT(*) AS n FROM people GROUP BY ALL ORDER BY blood;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by blood
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- Groups that are not shown.
SELECT COUNT(*) AS n, AVG(height) FROM people WHERE blood IS NOT NULL GROUP BY blood ORDER BY n, 2;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by blood
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric
--plan> sum of height in steps of 0.05 from 2600: L1 460800, Linf 460800, L2² 212336640000; SummedNoise
--plan> rows with a value of height: L1 460800, Linf 460800, L2² 212336640000; SummedNoise

-- Only wards with enough visits.
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) >= 30 ORDER BY n DESC;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, all wards.ward of ward
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- A condition over an alias of the answer.
SELECT doctor, AVG(cost) AS mean_cost FROM visits GROUP BY doctor HAVING mean_cost > 1000 AND COUNT(*) > 10 ORDER BY doctor;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: selected privately, by doctor
--plan> sum of cost in steps of 0.01 from 500000 scaled to L2² 41 rows in parts of 1/1: L1 10250000000000, Linf 3201562, L2² 10250000000000; DiscreteGaussian
--plan> rows with a value of cost scaled to L2² 41 rows in parts of 1/131072: L1 704374636544, Linf 839270, L2² 704374636544; DiscreteGaussian
--plan> rows scaled to L2² 41 rows in parts of 1/131072: L1 704374636544, Linf 839270, L2² 704374636544; DiscreteGaussian
--plan> units weighted by their groups in steps of 1/1024: L1 3548, Linf 1024, L2² 1048576; DiscreteGaussian

-- A condition over an aggregate that is not shown.
SELECT city FROM people GROUP BY city HAVING AVG(income) > 50000 ORDER BY city;
--but> rows without a public key are left out
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, all cities.city of city
--plan> sum of income in steps of 0.005 from 20000000: L1 20000000, Linf 20000000, L2² 400000000000000; SummedNoise
--plan> rows with a value of income: L1 20000000, Linf 20000000, L2² 400000000000000; SummedNoise

-- The three largest wards.
SELECT ward, COUNT(*) AS n FROM visits WHERE ward IS NOT NULL GROUP BY ward ORDER BY n DESC LIMIT 3;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, all wards.ward of ward
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- The second page.
SELECT ward, COUNT(*) AS n FROM visits WHERE ward IS NOT NULL GROUP BY ward HAVING n > 0 ORDER BY n DESC LIMIT 2 OFFSET 1;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, all wards.ward of ward
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- Only an offset.
SELECT blood, COUNT(*) FROM people WHERE blood IS NOT NULL GROUP BY blood ORDER BY blood OFFSET 2;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by blood
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- The standard's words for LIMIT.
SELECT blood, COUNT(*) FROM people WHERE blood IS NOT NULL GROUP BY blood ORDER BY blood FETCH FIRST 2 ROWS ONLY;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by blood
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- Missing keys first.
SELECT doctor, COUNT(*) FROM visits GROUP BY doctor ORDER BY doctor NULLS FIRST;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: selected privately, by doctor
--plan> rows scaled to L2² 41 rows in parts of 1/131072: L1 704374636544, Linf 839270, L2² 704374636544; DiscreteGaussian
--plan> units weighted by their groups in steps of 1/1024: L1 3548, Linf 1024, L2² 1048576; DiscreteGaussian

-- Missing keys last, downwards.
SELECT doctor, COUNT(*) FROM visits GROUP BY doctor ORDER BY doctor DESC NULLS LAST;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: selected privately, by doctor
--plan> rows scaled to L2² 41 rows in parts of 1/131072: L1 704374636544, Linf 839270, L2² 704374636544; DiscreteGaussian
--plan> units weighted by their groups in steps of 1/1024: L1 3548, Linf 1024, L2² 1048576; DiscreteGaussian

-- An order by something that is not shown.
SELECT blood FROM people WHERE blood IS NOT NULL GROUP BY blood ORDER BY COUNT(*) DESC, blood;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by blood
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- An order by arithmetic over aggregates.
SELECT blood FROM people WHERE blood IS NOT NULL GROUP BY blood ORDER BY SUM(income) / COUNT(*) DESC;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by blood
--plan> sum of income in steps of 0.01: L1 20000000, Linf 20000000, L2² 400000000000000; DiscreteLaplace
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- Different numbers of visits, once each.
SELECT DISTINCT COUNT(*) > 30 AS busy FROM visits WHERE ward IS NOT NULL GROUP BY ward ORDER BY busy;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, all wards.ward of ward
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- Which doctors there are.
SELECT DISTINCT doctor FROM visits GROUP BY doctor;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: selected privately, by doctor
--plan> units weighted by their groups in steps of 1/1024: L1 3548, Linf 1024, L2² 1048576; DiscreteGaussian

-- Which blood groups there are, with nothing measured.
SELECT blood FROM people GROUP BY blood;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by blood
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- Arithmetic over aggregates.
SELECT COUNT(*) * 2 + 1, SUM(cost) / COUNT(*), ROUND(AVG(severity), 2), -MIN(severity) FROM visits;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> sum of cost in steps of 0.01: L1 12000000, Linf 12000000, L2² 144000000000000; DiscreteLaplace
--plan> sum of severity in steps of 0.5 from 6: L1 786432, Linf 786432, L2² 618475290624; SummedNoise
--plan> rows with a value of severity: L1 786432, Linf 786432, L2² 618475290624; SummedNoise
--plan> rows on either side of a value of severity at 0 in steps of 1/1048576: L1 12582912, Linf 12582912, L2² 158329674399744; Geometric
--plan> rows between values around the picked ones: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- A share in percent.
SELECT 100.0 * COUNT(CASE WHEN smoker THEN 1 END) / COUNT(*) AS smokers FROM people;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of case(smoker, 1, 0): L1 1, Linf 1, L2² 1; DiscreteGaussian
--plan> units: L1 1, Linf 1, L2² 1; DiscreteGaussian

-- A share of a group, guarded against nothing.
SELECT ward, COUNT_IF(urgent) / NULLIF(COUNT(*), 0) AS urgent_share FROM visits WHERE ward IS NOT NULL GROUP BY ward;
--but> every public key appears
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, all wards.ward of ward
--plan> sum of case(urgent, 1, 0) in steps of 0.5 from 1 scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; SummedNoise
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; SummedNoise

-- A word for a number.
SELECT ward, CASE WHEN COUNT(*) > 50 THEN 'busy' WHEN COUNT(*) > 20 THEN 'usual' ELSE 'quiet' END AS load FROM visits WHERE ward IS NOT NULL GROUP BY ward HAVING COUNT(*) > 0;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, all wards.ward of ward
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- A text made of key and number.
SELECT blood || ': ' || CAST(COUNT(*) AS VARCHAR) AS label FROM people WHERE blood IS NOT NULL GROUP BY blood ORDER BY label;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by blood
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- Nothing passes.
SELECT COUNT(*) FROM people WHERE FALSE;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Sums over nothing.
SELECT COUNT(*), SUM(cost), AVG(cost), COUNT(DISTINCT ward) FROM visits WHERE severity > 5;
--but> an empty sum is 0
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> sum of cost in steps of 0.005 from 1000000: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise
--plan> rows with a value of cost: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise
--plan> distinct values of ward: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> how many distinct values of a unit count in steps of 1/1048576: L1 1048576, Linf 1048576, L2² 1099511627776; Geometric

-- One group that a condition takes away.
SELECT COUNT(*) FROM people HAVING COUNT(*) > 100000;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Conditions of every kind at once.
SELECT COUNT(*) FROM visits WHERE (urgent OR severity BETWEEN 4 AND 5) AND NOT (cost IS NULL) AND ward IN ('surgery', 'emergency') AND doctor NOT LIKE '%Cruz';
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- A condition that is sometimes unknown.
SELECT COUNT(*) FROM people WHERE NOT (smoker AND income > 40000);
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Constants around an aggregate.
SELECT 'visits' AS what, COUNT(*) AS n, NULL AS nothing, 3.5 AS weight FROM visits;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- The same column twice.
SELECT blood, blood, COUNT(*) FROM people GROUP BY blood;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by blood
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- A key in an expression of the answer.
SELECT LOWER(blood) AS b, COUNT(*) FROM people GROUP BY blood;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by blood
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- A table by its name with each column.
SELECT people.sex, COUNT(people.income) FROM people WHERE people.sex IS NOT NULL GROUP BY people.sex;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, F/M/X of sex
--plan> rows with a value of income: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Names in quotation marks.
SELECT "sex" AS "the sex", COUNT(*) AS "how many" FROM "people" WHERE "sex" IS NOT NULL GROUP BY "sex" ORDER BY "how many" DESC, "the sex";
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, F/M/X of sex
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- FROM first, as DuckDB allows.
FROM visits SELECT COUNT(*), AVG(cost) WHERE urgent;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> sum of cost in steps of 0.005 from 1000000: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise
--plan> rows with a value of cost: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise

-- A question in parentheses.
(SELECT COUNT(*) FROM visits WHERE urgent);
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Two keys of which one must be selected.
SELECT ward, doctor, COUNT(*) AS n FROM visits WHERE ward IS NOT NULL AND doctor IS NOT NULL GROUP BY ward, doctor ORDER BY ward, doctor;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: selected privately, by ward, doctor
--plan> rows scaled to L2² 41 rows in parts of 1/131072: L1 704374636544, Linf 839270, L2² 704374636544; DiscreteGaussian
--plan> units weighted by their groups in steps of 1/1024: L1 3548, Linf 1024, L2² 1048576; DiscreteGaussian

-- A range of numbers as keys.
SELECT severity, COUNT(*), AVG(cost) FROM visits GROUP BY severity ORDER BY severity;
--but> rows without a public key are left out
--plan> reads visits; protects person_id, at most 12 rows in 5 groups, 12 in one
--plan> groups: public, 5 values of severity
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace
--plan> sum of cost in steps of 0.005 from 1000000 scaled to L1 12 rows in parts of 1/1: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise
--plan> rows with a value of cost scaled to L1 12 rows in parts of 1/1000000: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise

-- A condition as a key.
SELECT smoker, COUNT(*) FROM people GROUP BY smoker;
--but> rows without a public key are left out
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, False/True of smoker
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- How many people of each age band.
SELECT CASE WHEN born < DATE '1960-01-01' THEN 'old' WHEN born < DATE '2000-01-01' THEN 'middle' ELSE 'young or unknown' END AS band, COUNT(*) FROM people GROUP BY band;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, old/middle/young or unknown of case(less(born, datetime.date(1960, 1, 1)), 'old', less(born, datetime.date(2000, 1, 1)), 'middle', 'young or unknown')
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Numeric keys on a grid.
SELECT ROUND(height, -1) AS about, COUNT(*) FROM people WHERE height IS NOT NULL GROUP BY about ORDER BY about;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by round(height, -1)
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- BigQuery's clause around an ordinary question.
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=500, delta=1e-9) blood, COUNT(*) AS n FROM people GROUP BY blood;
--duckdb> SELECT blood, COUNT(*) FROM people GROUP BY blood
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by blood
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric
