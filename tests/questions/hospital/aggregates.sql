-- Every statistic.

-- Counts of rows, of values and of people.
SELECT COUNT(*), COUNT(cost), COUNT(DISTINCT person_id), COUNT(1), COUNT(person_id) FROM visits;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> rows with a value of cost: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Different values.
SELECT COUNT(DISTINCT ward), COUNT(DISTINCT doctor), COUNT(DISTINCT severity), COUNT(DISTINCT cost) FROM visits;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> distinct values of ward: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> how many distinct values of a unit count in steps of 1/1048576: L1 1048576, Linf 1048576, L2² 1099511627776; Geometric
--plan> distinct values of doctor: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> how many distinct values of a unit count in steps of 1/1048576: L1 1048576, Linf 1048576, L2² 1099511627776; Geometric
--plan> distinct values of severity: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> how many distinct values of a unit count in steps of 1/1048576: L1 1048576, Linf 1048576, L2² 1099511627776; Geometric
--plan> distinct values of cost: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> how many distinct values of a unit count in steps of 1/1048576: L1 1048576, Linf 1048576, L2² 1099511627776; Geometric

-- Different values of an expression.
SELECT COUNT(DISTINCT LOWER(doctor)), COUNT(DISTINCT arrived::DATE) FROM visits;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> distinct values of lower(doctor): L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> how many distinct values of a unit count in steps of 1/1048576: L1 1048576, Linf 1048576, L2² 1099511627776; Geometric
--plan> distinct values of cast_date(arrived): L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> how many distinct values of a unit count in steps of 1/1048576: L1 1048576, Linf 1048576, L2² 1099511627776; Geometric

-- A sum and a mean.
SELECT SUM(cost), AVG(cost), SUM(severity), AVG(severity) FROM visits;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> sum of cost in steps of 0.005 from 1000000: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise
--plan> rows with a value of cost: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise
--plan> sum of severity in steps of 0.5 from 6: L1 786432, Linf 786432, L2² 618475290624; SummedNoise
--plan> rows with a value of severity: L1 786432, Linf 786432, L2² 618475290624; SummedNoise

-- Sums of expressions.
SELECT SUM(cost * 2 + 1), SUM(CASE WHEN urgent THEN cost END), SUM(cost - severity * 10) FROM visits;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> sum of add(multiply(cost, 2), 1) in steps of 0.02 scaled to L1 12000600 in parts of 1/1: L1 12000600, Linf 12000600, L2² 144014400360000; DiscreteLaplace
--plan> sum of case(urgent, cost, None) in steps of 0.01 scaled to L1 12000000 in parts of 1/1: L1 12000000, Linf 12000000, L2² 144000000000000; DiscreteLaplace
--plan> sum of subtract(cost, multiply(severity, 10)) in steps of 0.01 scaled to L1 11988000 in parts of 1/1: L1 11988000, Linf 11988000, L2² 143712144000000; DiscreteLaplace

-- A mean is also called so.
SELECT MEAN(height) FROM people;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of height in steps of 0.05 from 2600: L1 460800, Linf 460800, L2² 212336640000; SummedNoise
--plan> rows with a value of height: L1 460800, Linf 460800, L2² 212336640000; SummedNoise

-- Smallest and largest, of a wide value up to a step.
SELECT MIN(severity), MAX(severity), ROUND(MIN(cost)), ROUND(MAX(cost)) FROM visits;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows on either side of a value of severity at 0, 1 in steps of 1/1048576: L1 25165824, Linf 25165824, L2² 633318697598976; Geometric
--plan> rows between values around the picked ones: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> rows on either side of a value of cost at 0, 1 in steps of 1/1048576: L1 25165824, Linf 25165824, L2² 633318697598976; Geometric
--plan> rows between values around the picked ones: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Smallest and largest by ward.
SELECT ward, MIN(severity), MAX(severity) FROM visits WHERE ward IN ('surgery', 'emergency') GROUP BY ward HAVING COUNT(*) > 0;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, those in wards of ward
--plan> rows on either side of a value of severity at 0, 1 in steps of 1/1048576: L1 25165824, Linf 25165824, L2² 633318697598976; Geometric
--plan> rows between values around the picked ones: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- The median, which here is a value that is there.
SELECT MEDIAN(severity), MEDIAN(height) FROM visits JOIN people USING (person_id);
--duckdb> SELECT QUANTILE_DISC(severity, 0.5), QUANTILE_DISC(height, 0.5) FROM visits JOIN people USING (person_id)
--plan> reads visits, people; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows on either side of a value of severity at 1/2 in steps of 1/1048576: L1 6291456, Linf 6291456, L2² 39582418599936; Geometric
--plan> rows between values around the picked ones: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> rows on either side of a value of height at 1/2 in steps of 1/1048576: L1 6291456, Linf 6291456, L2² 39582418599936; Geometric
--plan> rows between values around the picked ones: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Quartiles in DuckDB's words.
SELECT QUANTILE_DISC(severity, 0.25), QUANTILE_DISC(severity, 0.75) FROM visits;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows on either side of a value of severity at 1/4, 3/4 in steps of 1/1048576: L1 17825796, Linf 17825796, L2² 317759003033616; Geometric
--plan> rows between values around the picked ones: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Quartiles in the standard's words.
SELECT PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY height), PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY height) FROM people;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> rows on either side of a value of height at 1/4, 9/10 in steps of 1/1048576: L1 1701023, Linf 1701023, L2² 2893479246529; Geometric
--plan> rows between values around the picked ones: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- A continuous quantile is close to the discrete one.
SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY height), QUANTILE_CONT(height, 0.1) FROM people;
--duckdb> SELECT QUANTILE_DISC(height, 0.9), QUANTILE_DISC(height, 0.1) FROM people
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> rows on either side of a value of height at 1/10, 9/10 in steps of 1/1048576: L1 1875786, Linf 1875786, L2² 3518573117796; Geometric
--plan> rows between values around the picked ones: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- BigQuery's quantiles.
SELECT APPROX_QUANTILES(height, 4)[OFFSET(1)] FROM people;
--duckdb> SELECT QUANTILE_DISC(height, 0.25) FROM people
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> rows on either side of a value of height at 1/4 in steps of 1/1048576: L1 786432, Linf 786432, L2² 618475290624; Geometric
--plan> rows between values around the picked ones: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Variances and deviations.
SELECT VAR_POP(cost), VAR_SAMP(cost), VARIANCE(cost), STDDEV_POP(cost), STDDEV_SAMP(cost), STDDEV(cost) FROM visits;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> sum of cost in steps of 0.005 from 1000000: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise
--plan> sum of power(subtract(cost, 5000.0), 2) from 12500000: L1 150000000, Linf 150000000, L2² 22500000000000000; DiscreteLaplace
--plan> rows with a value of cost: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise

-- Deviations by sex.
SELECT sex, STDDEV_SAMP(height), VAR_POP(weight) FROM people WHERE sex IS NOT NULL GROUP BY sex;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, F/M/X of sex
--plan> sum of height in steps of 0.05 from 2600: L1 460800, Linf 460800, L2² 212336640000; SummedNoise
--plan> sum of power(subtract(height, 130.0), 2) in steps of 0.01 from 405000: L1 405000, Linf 405000, L2² 164025000000; DiscreteLaplace
--plan> rows with a value of height: L1 460800, Linf 460800, L2² 212336640000; SummedNoise
--plan> sum of weight in steps of 1/262144 from 26476544: L1 25952256, Linf 25952256, L2² 673519591489536; SummedNoise
--plan> sum of power(subtract(weight, 101.0), 2) in steps of 1/2048 from 10036224: L1 10036224, Linf 10036224, L2² 100725792178176; DiscreteLaplace
--plan> rows with a value of weight: L1 25952256, Linf 25952256, L2² 673519591489536; SummedNoise

-- Height against weight.
SELECT CORR(height, weight), COVAR_POP(height, weight), COVAR_SAMP(height, weight) FROM people;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of case(not(is_null(weight)), height, None) in steps of 0.1 from 1300: L1 900, Linf 900, L2² 810000; DiscreteLaplace
--plan> sum of case(not(is_null(height)), weight, None) in steps of 1/131072 from 13238272: L1 12976128, Linf 12976128, L2² 168379897872384; DiscreteLaplace
--plan> sum of multiply(subtract(case(not(is_null(weight)), height, None), 130.0), subtract(case(not(is_null(height)), weight, None), 101.0)) in steps of 1/1024: L1 9123840, Linf 9123840, L2² 83244456345600; DiscreteLaplace
--plan> rows with a value of case(not(is_null(weight)), height, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> sum of power(subtract(case(not(is_null(weight)), height, None), 130.0), 2) in steps of 0.01 from 405000: L1 405000, Linf 405000, L2² 164025000000; DiscreteLaplace
--plan> sum of power(subtract(case(not(is_null(height)), weight, None), 101.0), 2) in steps of 1/2048 from 10036224: L1 10036224, Linf 10036224, L2² 100725792178176; DiscreteLaplace

-- Correlation by sex.
SELECT smoker, CORR(height, income) FROM people WHERE smoker IS NOT NULL GROUP BY smoker;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, False/True of smoker
--plan> sum of case(not(is_null(income)), height, None) in steps of 0.1 from 1300: L1 900, Linf 900, L2² 810000; DiscreteLaplace
--plan> sum of case(not(is_null(height)), income, None) in steps of 0.01 from 10000000: L1 10000000, Linf 10000000, L2² 100000000000000; DiscreteLaplace
--plan> sum of multiply(subtract(case(not(is_null(income)), height, None), 130.0), subtract(case(not(is_null(height)), income, None), 100000.0)): L1 9000000, Linf 9000000, L2² 81000000000000; DiscreteLaplace
--plan> rows with a value of case(not(is_null(income)), height, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> sum of power(subtract(case(not(is_null(income)), height, None), 130.0), 2) in steps of 0.01 from 405000: L1 405000, Linf 405000, L2² 164025000000; DiscreteLaplace
--plan> sum of power(subtract(case(not(is_null(height)), income, None), 100000.0), 2) in steps of 512.0 from 9765625: L1 9765625, Linf 9765625, L2² 95367431640625; DiscreteLaplace

-- How often a condition holds, in every spelling.
SELECT COUNT_IF(urgent), COUNTIF(severity > 3), SUM(urgent::INT), SUM(CASE WHEN urgent THEN 1 ELSE 0 END), COUNT(*) FILTER (WHERE urgent) FROM visits;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows with a value of case(urgent, 1, None): L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> rows with a value of case(greater(severity, 3), 1, None): L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> sum of cast_integer(urgent): L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> sum of case(urgent, 1, 0): L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Any statistic over part of the rows.
SELECT SUM(cost) FILTER (WHERE urgent), AVG(cost) FILTER (WHERE NOT urgent), COUNT(DISTINCT person_id) FILTER (WHERE severity = 5), STDDEV_POP(cost) FILTER (WHERE severity > 2) FROM visits;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> sum of case(urgent, cost, None) in steps of 0.01: L1 12000000, Linf 12000000, L2² 144000000000000; DiscreteLaplace
--plan> sum of case(not(urgent), cost, None) in steps of 0.005 from 1000000: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise
--plan> rows with a value of case(not(urgent), cost, None): L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise
--plan> units of case(equal(severity, 5), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> sum of case(greater(severity, 2), cost, None) in steps of 0.005 from 1000000: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise
--plan> sum of power(subtract(case(greater(severity, 2), cost, None), 5000.0), 2) from 12500000: L1 150000000, Linf 150000000, L2² 22500000000000000; DiscreteLaplace
--plan> rows with a value of case(greater(severity, 2), cost, None): L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise

-- People for whom something holds.
SELECT COUNT(DISTINCT CASE WHEN urgent THEN person_id END), COUNT(DISTINCT CASE WHEN cost > 1000 THEN person_id END) FROM visits;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> units of case(urgent, 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> units of case(greater(cost, 1000), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace

-- A mean of a condition is a share.
SELECT AVG(CASE WHEN smoker THEN 1.0 ELSE 0.0 END), AVG(smoker::INT) FROM people WHERE smoker IS NOT NULL;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of case(smoker, 1.0, 0.0): L1 1, Linf 1, L2² 1; DiscreteGaussian
--plan> units: L1 1, Linf 1, L2² 1; DiscreteGaussian
--plan> sum of cast_integer(smoker): L1 1, Linf 1, L2² 1; DiscreteGaussian
--plan> rows with a value of cast_integer(smoker): L1 1, Linf 1, L2² 1; DiscreteGaussian

-- A weighted mean.
SELECT SUM(cost * severity) / SUM(severity) FROM visits WHERE cost IS NOT NULL AND severity IS NOT NULL;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> sum of multiply(cost, severity) in steps of 0.01 scaled to L1 60000000 in parts of 1/1: L1 60000000, Linf 60000000, L2² 3600000000000000; DiscreteLaplace
--plan> sum of severity scaled to L1 60 in parts of 1/8192: L1 491520, Linf 491520, L2² 241591910400; DiscreteLaplace

-- Pivoted counts.
SELECT ward, COUNT_IF(severity = 1) AS s1, COUNT_IF(severity = 2) AS s2, COUNT_IF(severity >= 3) AS s3 FROM visits WHERE ward IS NOT NULL GROUP BY ward ORDER BY ward;
--but> every public key appears
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, all wards.ward of ward
--plan> rows with a value of case(equal(severity, 1), 1, None) scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace
--plan> rows with a value of case(equal(severity, 2), 1, None) scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace
--plan> rows with a value of case(greater_equal(severity, 3), 1, None) scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- A histogram of equal widths.
SELECT WIDTH_BUCKET(height, 100, 200, 10) AS bucket, COUNT(*) FROM people WHERE height IS NOT NULL GROUP BY bucket HAVING COUNT(*) > 0 ORDER BY bucket;
--duckdb> SELECT CASE WHEN height < 100 THEN 0 WHEN height >= 200 THEN 11 ELSE FLOOR((height - 100) / 10)::INT + 1 END AS bucket, COUNT(*) FROM people WHERE height IS NOT NULL GROUP BY bucket ORDER BY bucket
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, 12 values of width_bucket(height, 100, 200, 10)
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- A histogram of tens.
SELECT FLOOR(height / 10) * 10 AS from_cm, COUNT(*) FROM people WHERE height IS NOT NULL GROUP BY from_cm HAVING COUNT(*) > 0 ORDER BY from_cm;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, 19 values of multiply(floor(divide(height, 10)), 10)
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- A count of diagnoses, of codes and of scores.
SELECT COUNT(*), COUNT(DISTINCT code), SUM(score), AVG(score), MIN(score) FROM diagnoses;
--plan> reads diagnoses; protects person_id, at most 36 rows in 1 group, 36 in one
--plan> groups: one
--plan> rows: L1 36, Linf 36, L2² 1296; DiscreteLaplace
--plan> distinct values of code: L1 36, Linf 36, L2² 1296; DiscreteLaplace
--plan> how many distinct values of a unit count in steps of 1/1048576: L1 1048576, Linf 1048576, L2² 1099511627776; Geometric
--plan> sum of score in steps of 0.5: L1 368640, Linf 368640, L2² 135895449600; SummedNoise
--plan> rows with a value of score: L1 368640, Linf 368640, L2² 135895449600; SummedNoise
--plan> rows on either side of a value of score at 0 in steps of 1/1048576: L1 37748736, Linf 37748736, L2² 1424967069597696; Geometric
--plan> rows between values around the picked ones: L1 36, Linf 36, L2² 1296; DiscreteLaplace

-- The same statistic twice costs once.
SELECT COUNT(*), COUNT(*) + 1, SUM(cost), SUM(cost) / 2 FROM visits;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> sum of cost in steps of 0.01: L1 12000000, Linf 12000000, L2² 144000000000000; DiscreteLaplace
