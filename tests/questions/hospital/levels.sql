-- Subtotals and totals: ROLLUP, CUBE and GROUPING SETS.

-- People by sex and smoking, with subtotals.
SELECT sex, smoker, COUNT(*) AS n FROM people WHERE sex IS NOT NULL AND smoker IS NOT NULL GROUP BY ROLLUP (sex, smoker);
--plan> (sex, smoker) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex, smoker) groups: public, F/M/X of sex × False/True of smoker
--plan> (sex, smoker) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> (sex) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex) groups: public, F/M/X of sex; rows have one of False/True of smoker
--plan> (sex) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> () reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> () groups: one; rows have one of F/M/X of sex; rows have one of False/True of smoker
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- The same in MySQL's words.
SELECT sex, smoker, COUNT(*) AS n FROM people WHERE sex IS NOT NULL AND smoker IS NOT NULL GROUP BY sex, smoker WITH ROLLUP;
--duckdb> SELECT sex, smoker, COUNT(*) AS n FROM people WHERE sex IS NOT NULL AND smoker IS NOT NULL GROUP BY ROLLUP (sex, smoker)
--plan> (sex, smoker) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex, smoker) groups: public, F/M/X of sex × False/True of smoker
--plan> (sex, smoker) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> (sex) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex) groups: public, F/M/X of sex; rows have one of False/True of smoker
--plan> (sex) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> () reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> () groups: one; rows have one of F/M/X of sex; rows have one of False/True of smoker
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Every combination of keys, and which a row is grouped by.
SELECT sex, smoker, GROUPING(sex, smoker) AS level, COUNT(*) AS n, AVG(height), STDDEV_POP(weight) FROM people WHERE sex IS NOT NULL AND smoker IS NOT NULL GROUP BY CUBE (sex, smoker) ORDER BY level, sex, smoker;
--plan> (sex, smoker) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex, smoker) groups: public, F/M/X of sex × False/True of smoker
--plan> (sex, smoker) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> (sex, smoker) sum of height in steps of 0.05 from 2600: L1 460800, Linf 460800, L2² 212336640000; SummedNoise
--plan> (sex, smoker) rows with a value of height: L1 460800, Linf 460800, L2² 212336640000; SummedNoise
--plan> (sex, smoker) sum of weight in steps of 1/262144 from 26476544: L1 25952256, Linf 25952256, L2² 673519591489536; SummedNoise
--plan> (sex, smoker) sum of power(subtract(weight, 101.0), 2) in steps of 1/2048 from 10036224: L1 10036224, Linf 10036224, L2² 100725792178176; DiscreteLaplace
--plan> (sex, smoker) rows with a value of weight: L1 25952256, Linf 25952256, L2² 673519591489536; SummedNoise
--plan> (sex) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex) groups: public, F/M/X of sex; rows have one of False/True of smoker
--plan> (sex) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> (sex) sum of height in steps of 0.05 from 2600: L1 460800, Linf 460800, L2² 212336640000; SummedNoise
--plan> (sex) rows with a value of height: L1 460800, Linf 460800, L2² 212336640000; SummedNoise
--plan> (sex) sum of weight in steps of 1/262144 from 26476544: L1 25952256, Linf 25952256, L2² 673519591489536; SummedNoise
--plan> (sex) sum of power(subtract(weight, 101.0), 2) in steps of 1/2048 from 10036224: L1 10036224, Linf 10036224, L2² 100725792178176; DiscreteLaplace
--plan> (sex) rows with a value of weight: L1 25952256, Linf 25952256, L2² 673519591489536; SummedNoise
--plan> (smoker) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (smoker) groups: public, False/True of smoker; rows have one of F/M/X of sex
--plan> (smoker) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> (smoker) sum of height in steps of 0.05 from 2600: L1 460800, Linf 460800, L2² 212336640000; SummedNoise
--plan> (smoker) rows with a value of height: L1 460800, Linf 460800, L2² 212336640000; SummedNoise
--plan> (smoker) sum of weight in steps of 1/262144 from 26476544: L1 25952256, Linf 25952256, L2² 673519591489536; SummedNoise
--plan> (smoker) sum of power(subtract(weight, 101.0), 2) in steps of 1/2048 from 10036224: L1 10036224, Linf 10036224, L2² 100725792178176; DiscreteLaplace
--plan> (smoker) rows with a value of weight: L1 25952256, Linf 25952256, L2² 673519591489536; SummedNoise
--plan> () reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> () groups: one; rows have one of F/M/X of sex; rows have one of False/True of smoker
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> () sum of height in steps of 0.05 from 2600: L1 460800, Linf 460800, L2² 212336640000; SummedNoise
--plan> () rows with a value of height: L1 460800, Linf 460800, L2² 212336640000; SummedNoise
--plan> () sum of weight in steps of 1/262144 from 26476544: L1 25952256, Linf 25952256, L2² 673519591489536; SummedNoise
--plan> () sum of power(subtract(weight, 101.0), 2) in steps of 1/2048 from 10036224: L1 10036224, Linf 10036224, L2² 100725792178176; DiscreteLaplace
--plan> () rows with a value of weight: L1 25952256, Linf 25952256, L2² 673519591489536; SummedNoise

-- Some sets, by name.
SELECT sex, smoker, COUNT(*) AS n, SUM(income) FROM people WHERE sex IS NOT NULL AND smoker IS NOT NULL GROUP BY GROUPING SETS ((sex, smoker), (smoker), ());
--plan> (sex, smoker) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex, smoker) groups: public, F/M/X of sex × False/True of smoker
--plan> (sex, smoker) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> (sex, smoker) sum of income in steps of 0.01: L1 20000000, Linf 20000000, L2² 400000000000000; DiscreteLaplace
--plan> (smoker) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (smoker) groups: public, False/True of smoker; rows have one of F/M/X of sex
--plan> (smoker) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> (smoker) sum of income in steps of 0.01: L1 20000000, Linf 20000000, L2² 400000000000000; DiscreteLaplace
--plan> () reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> () groups: one; rows have one of F/M/X of sex; rows have one of False/True of smoker
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> () sum of income in steps of 0.01: L1 20000000, Linf 20000000, L2² 400000000000000; DiscreteLaplace

-- Two sets that have nothing in common, and no total.
SELECT sex, smoker, COUNT(*) FROM people WHERE sex IS NOT NULL AND smoker IS NOT NULL GROUP BY GROUPING SETS (sex, smoker);
--plan> (sex) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex) groups: public, F/M/X of sex; rows have one of False/True of smoker
--plan> (sex) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> (smoker) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (smoker) groups: public, False/True of smoker; rows have one of F/M/X of sex
--plan> (smoker) units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Positions.
SELECT sex, smoker, COUNT(*) FROM people WHERE sex IS NOT NULL AND smoker IS NOT NULL GROUP BY GROUPING SETS ((1, 2), 1, ());
--plan> (sex, smoker) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex, smoker) groups: public, F/M/X of sex × False/True of smoker
--plan> (sex, smoker) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> (sex) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex) groups: public, F/M/X of sex; rows have one of False/True of smoker
--plan> (sex) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> () reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> () groups: one; rows have one of F/M/X of sex; rows have one of False/True of smoker
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Aliases.
SELECT sex AS gender, NOT smoker AS clean, COUNT(*), GROUPING(gender), GROUPING(clean, gender) FROM people WHERE sex IS NOT NULL AND smoker IS NOT NULL GROUP BY CUBE (gender, clean);
--plan> (gender, clean) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (gender, clean) groups: public, False/True of not(smoker) × F/M/X of sex
--plan> (gender, clean) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> (clean) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (clean) groups: public, False/True of not(smoker); rows have one of F/M/X of sex
--plan> (clean) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> (gender) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (gender) groups: public, F/M/X of sex; rows have one of False/True of not(smoker)
--plan> (gender) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> () reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> () groups: one; rows have one of False/True of not(smoker); rows have one of F/M/X of sex
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- A plain key before ROLLUP is in every set.
SELECT sex, smoker, COUNT(*) FROM people WHERE sex IS NOT NULL AND smoker IS NOT NULL GROUP BY sex, ROLLUP (smoker) ORDER BY GROUPING(smoker), sex, smoker;
--plan> (sex, smoker) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex, smoker) groups: public, F/M/X of sex × False/True of smoker
--plan> (sex, smoker) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> (sex) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex) groups: public, F/M/X of sex; rows have one of False/True of smoker
--plan> (sex) units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Keys that go together in a ROLLUP.
SELECT sex, smoker, born < DATE '1980-01-01' AS old, COUNT(*) FROM people WHERE sex IS NOT NULL AND smoker IS NOT NULL AND born IS NOT NULL GROUP BY ROLLUP ((sex, smoker), old);
--plan> (sex, smoker, old) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex, smoker, old) groups: public, False/True of less(born, datetime.date(1980, 1, 1)) × F/M/X of sex × False/True of smoker
--plan> (sex, smoker, old) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> (sex, smoker) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex, smoker) groups: public, F/M/X of sex × False/True of smoker; rows have one of False/True of less(born, datetime.date(1980, 1, 1))
--plan> (sex, smoker) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> () reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> () groups: one; rows have one of False/True of less(born, datetime.date(1980, 1, 1)); rows have one of F/M/X of sex; rows have one of False/True of smoker
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- A set that is asked for twice is shown twice.
SELECT sex, COUNT(*) FROM people WHERE sex IS NOT NULL GROUP BY GROUPING SETS ((sex), (sex), ());
--plan> (sex) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex) groups: public, F/M/X of sex
--plan> (sex) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> () reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> () groups: one; rows have one of F/M/X of sex
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- ROLLUP within GROUPING SETS.
SELECT sex, smoker, COUNT(*) FROM people WHERE sex IS NOT NULL AND smoker IS NOT NULL GROUP BY GROUPING SETS (ROLLUP (sex, smoker), (smoker));
--plan> (sex, smoker) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex, smoker) groups: public, F/M/X of sex × False/True of smoker
--plan> (sex, smoker) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> (sex) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex) groups: public, F/M/X of sex; rows have one of False/True of smoker
--plan> (sex) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> (smoker) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (smoker) groups: public, False/True of smoker; rows have one of F/M/X of sex
--plan> (smoker) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> () reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> () groups: one; rows have one of F/M/X of sex; rows have one of False/True of smoker
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- One set after all.
SELECT sex, COUNT(*) FROM people WHERE sex IS NOT NULL GROUP BY GROUPING SETS ((sex));
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, F/M/X of sex
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Unknown keys are selected level by level.
SELECT doctor, urgent, COUNT(*) AS n FROM visits WHERE urgent IS NOT NULL GROUP BY CUBE (doctor, urgent);
--plan> (doctor, urgent) reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> (doctor, urgent) groups: selected privately, by doctor, urgent
--plan> (doctor, urgent) rows scaled to L2² 41 rows in parts of 1/131072: L1 704374636544, Linf 839270, L2² 704374636544; DiscreteGaussian
--plan> (doctor, urgent) units weighted by their groups in steps of 1/1024: L1 3548, Linf 1024, L2² 1048576; DiscreteGaussian
--plan> (doctor) reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> (doctor) groups: selected privately, by doctor
--plan> (doctor) rows scaled to L2² 41 rows in parts of 1/131072: L1 704374636544, Linf 839270, L2² 704374636544; DiscreteGaussian
--plan> (doctor) units weighted by their groups in steps of 1/1024: L1 3548, Linf 1024, L2² 1048576; DiscreteGaussian
--plan> (urgent) reads visits; protects person_id, at most 12 rows in 2 groups, 12 in one
--plan> (urgent) groups: public, False/True of urgent
--plan> (urgent) rows scaled to L2² 101 rows in parts of 1/65536: L1 433791696896, Linf 658628, L2² 433791696896; DiscreteGaussian
--plan> () reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> () groups: one; rows have one of False/True of urgent
--plan> () rows: L1 12, Linf 12, L2² 144; DiscreteGaussian

-- A key that is missing is not a key that is NULL.
SELECT blood, GROUPING(blood) AS total, COUNT(*) FROM people GROUP BY ROLLUP (blood) ORDER BY total, blood;
--plan> (blood) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (blood) groups: selected privately, by blood
--plan> (blood) units: L1 1, Linf 1, L2² 1; TruncatedGeometric
--plan> () reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> () groups: one
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Rows without a public key are left out of the total too.
SELECT ward, COUNT(*) AS n, COUNT(DISTINCT person_id) AS people FROM visits GROUP BY ROLLUP (ward);
--duckdb> SELECT ward, COUNT(*) AS n, COUNT(DISTINCT person_id) AS people FROM visits WHERE ward IN (SELECT ward FROM wards) GROUP BY ROLLUP (ward)
--but> every public key appears
--plan> (ward) reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> (ward) groups: public, all wards.ward of ward
--plan> (ward) rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace
--plan> (ward) units: L1 12, Linf 1, L2² 12; DiscreteLaplace
--plan> () reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> () groups: one; rows have one of all wards.ward of ward
--plan> () rows: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- A hierarchy of public tables.
SELECT w.kind, w.ward, COUNT(*) AS n, SUM(v.cost) AS cost FROM visits v JOIN wards w ON v.ward = w.ward WHERE w.kind IS NOT NULL GROUP BY ROLLUP (w.kind, w.ward);
--but> every public key appears
--plan> (kind, ward) reads visits, wards; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> (kind, ward) groups: public, those in wards of kind × those in wards of ward
--plan> (kind, ward) rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace
--plan> (kind, ward) sum of cost in steps of 0.01 scaled to L1 12 rows in parts of 1/1: L1 12000000, Linf 12000000, L2² 144000000000000; DiscreteLaplace
--plan> (kind) reads visits, wards; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> (kind) groups: public, those in wards of kind; rows have one of those in wards of ward
--plan> (kind) rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace
--plan> (kind) sum of cost in steps of 0.01 scaled to L1 12 rows in parts of 1/1: L1 12000000, Linf 12000000, L2² 144000000000000; DiscreteLaplace
--plan> () reads visits, wards; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> () groups: one; rows have one of those in wards of kind; rows have one of those in wards of ward
--plan> () rows: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> () sum of cost in steps of 0.01: L1 12000000, Linf 12000000, L2² 144000000000000; DiscreteLaplace

-- Months within years.
SELECT YEAR(arrived) AS y, QUARTER(arrived) AS q, COUNT(*) FROM visits WHERE arrived IS NOT NULL GROUP BY ROLLUP (y, q) ORDER BY y NULLS LAST, q NULLS LAST;
--plan> (y, q) reads visits; protects person_id, at most 12 rows in 8 groups, 12 in one
--plan> (y, q) groups: public, 1/2/3/4 of part_quarter(arrived) × 2023/2024 of part_year(arrived)
--plan> (y, q) rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace
--plan> (y) reads visits; protects person_id, at most 12 rows in 2 groups, 12 in one
--plan> (y) groups: public, 2023/2024 of part_year(arrived); rows have one of 1/2/3/4 of part_quarter(arrived)
--plan> (y) rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace
--plan> () reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> () groups: one; rows have one of 1/2/3/4 of part_quarter(arrived); rows have one of 2023/2024 of part_year(arrived)
--plan> () rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- HAVING, ORDER BY and LIMIT are about rows of all levels.
SELECT sex, smoker, COUNT(*) AS n FROM people WHERE sex IS NOT NULL AND smoker IS NOT NULL GROUP BY CUBE (sex, smoker) HAVING COUNT(*) > 9 AND GROUPING(sex) = 0 ORDER BY n DESC, sex, smoker LIMIT 3;
--plan> (sex, smoker) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex, smoker) groups: public, F/M/X of sex × False/True of smoker
--plan> (sex, smoker) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> (sex) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex) groups: public, F/M/X of sex; rows have one of False/True of smoker
--plan> (sex) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> (smoker) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (smoker) groups: public, False/True of smoker; rows have one of F/M/X of sex
--plan> (smoker) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> () reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> () groups: one; rows have one of F/M/X of sex; rows have one of False/True of smoker
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- DISTINCT merges rows of all levels.
SELECT DISTINCT GROUPING(sex) + GROUPING(smoker) AS keys_missing FROM people WHERE sex IS NOT NULL AND smoker IS NOT NULL GROUP BY CUBE (sex, smoker) ORDER BY 1;
--plan> (sex, smoker) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex, smoker) groups: public, F/M/X of sex × False/True of smoker
--plan> (sex) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex) groups: public, F/M/X of sex; rows have one of False/True of smoker
--plan> (smoker) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (smoker) groups: public, False/True of smoker; rows have one of F/M/X of sex
--plan> () reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> () groups: one; rows have one of F/M/X of sex; rows have one of False/True of smoker

-- Arithmetic around levels.
SELECT COALESCE(sex, 'all') AS sex, SUM(income) / COUNT(income) AS mean, GROUPING_ID(sex) * 10 AS ten FROM people WHERE sex IS NOT NULL GROUP BY ROLLUP (sex);
--plan> (sex) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (sex) groups: public, F/M/X of sex
--plan> (sex) sum of income in steps of 0.005 from 20000000: L1 20000000, Linf 20000000, L2² 400000000000000; SummedNoise
--plan> (sex) rows with a value of income: L1 20000000, Linf 20000000, L2² 400000000000000; SummedNoise
--plan> () reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> () groups: one; rows have one of F/M/X of sex
--plan> () sum of income in steps of 0.005 from 20000000: L1 20000000, Linf 20000000, L2² 400000000000000; SummedNoise
--plan> () rows with a value of income: L1 20000000, Linf 20000000, L2² 400000000000000; SummedNoise

-- Quantiles of every level.
SELECT smoker, MEDIAN(height) AS middle FROM people WHERE smoker IS NOT NULL AND height IS NOT NULL GROUP BY ROLLUP (smoker);
--duckdb> SELECT smoker, QUANTILE_DISC(height, 0.5) AS middle FROM people WHERE smoker IS NOT NULL AND height IS NOT NULL GROUP BY ROLLUP (smoker)
--plan> (smoker) reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> (smoker) groups: public, False/True of smoker
--plan> (smoker) rows on either side of a value of height at 1/2 in steps of 1/1048576: L1 524288, Linf 524288, L2² 274877906944; Geometric
--plan> (smoker) rows between values around the picked ones: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> () reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> () groups: one; rows have one of False/True of smoker
--plan> () rows on either side of a value of height at 1/2 in steps of 1/1048576: L1 524288, Linf 524288, L2² 274877906944; Geometric
--plan> () rows between values around the picked ones: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Wards as they are: public tables alone.
SELECT kind, floor, COUNT(*) AS wards, SUM(beds) AS beds FROM wards WHERE kind IS NOT NULL AND floor IS NOT NULL GROUP BY ROLLUP (kind, floor) HAVING COUNT(*) > 0;
--plan> (kind, floor) reads wards; protects nobody
--plan> (kind, floor) groups: selected privately, by floor, kind
--plan> (kind, floor) units: L1 0, Linf 0, L2² 0; exact
--plan> (kind, floor) sum of beds: L1 0, Linf 0, L2² 0; exact
--plan> (kind) reads wards; protects nobody
--plan> (kind) groups: selected privately, by kind
--plan> (kind) units: L1 0, Linf 0, L2² 0; exact
--plan> (kind) sum of beds: L1 0, Linf 0, L2² 0; exact
--plan> () reads wards; protects nobody
--plan> () groups: one
--plan> () units: L1 0, Linf 0, L2² 0; exact
--plan> () sum of beds: L1 0, Linf 0, L2² 0; exact
