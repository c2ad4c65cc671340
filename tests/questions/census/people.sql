-- Persons protected row by row, and what joins to public regions.

-- How many persons there are is known.
SELECT COUNT(*) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> units: L1 0, Linf 0, L2² 0; exact

-- How many are of age is not.
SELECT COUNT(*) FROM persons WHERE age >= 18;
--plan> reads persons; protects a row
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Persons by sex.
SELECT sex, COUNT(*) FROM persons WHERE sex IS NOT NULL GROUP BY sex;
--plan> reads persons; protects a row
--plan> groups: public, F/M of sex
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- Persons by region, all of them shown.
SELECT region_code, COUNT(*) FROM persons GROUP BY region_code ORDER BY region_code;
--but> every public key appears
--but> rows without a public key are left out
--plan> reads persons; protects a row
--plan> groups: public, all regions.code of region_code
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- Persons by the region's name.
SELECT r.region, COUNT(*) AS n FROM persons p JOIN regions r ON p.region_code = r.code GROUP BY r.region ORDER BY r.region;
--but> every public key appears
--plan> reads persons, regions; protects a row
--plan> groups: public, those in regions of region
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- Persons by country.
SELECT r.country, COUNT(*), AVG(p.income) FROM persons p JOIN regions r ON r.code = p.region_code WHERE r.country IS NOT NULL GROUP BY r.country;
--plan> reads persons, regions; protects a row
--plan> groups: public, those in regions of country
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> sum of income in steps of 0.005 from 30000000: L1 60000000, Linf 30000000, L2² 1800000000000000; SummedNoise
--plan> rows with a value of income: L1 60000000, Linf 30000000, L2² 1800000000000000; SummedNoise

-- Those of no known region are kept.
SELECT COUNT(*), COUNT(r.area) FROM persons p LEFT JOIN regions r ON p.region_code = r.code;
--plan> reads persons, regions; protects a row
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> rows with a value of area: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- The old way to join.
SELECT COUNT(*) FROM persons, regions WHERE persons.region_code = regions.code AND regions.area > 1000;
--plan> reads persons, regions; protects a row
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Density of those asked.
SELECT r.region, COUNT(*) / r.area AS density FROM persons p JOIN regions r ON p.region_code = r.code WHERE r.area > 0 GROUP BY r.region, r.area HAVING COUNT(*) > 0;
--plan> reads persons, regions; protects a row
--plan> groups: public, those in regions of region × those in regions of area
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- Persons of a country, by IN.
SELECT COUNT(*) FROM persons WHERE region_code IN (SELECT code FROM regions WHERE country = 'Norway');
--plan> reads persons, regions; protects a row
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Persons of no such region.
SELECT COUNT(*) FROM persons p WHERE NOT EXISTS (SELECT 1 FROM regions r WHERE r.code = p.region_code AND r.country = 'Italy');
--plan> reads persons, regions; protects a row
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Persons in regions larger than the mean.
SELECT COUNT(*) FROM persons p JOIN regions r ON p.region_code = r.code WHERE r.area > (SELECT AVG(area) FROM regions);
--plan> reads persons, regions; protects a row
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- The region of a person with a value.
SELECT COUNT(*) FROM persons p WHERE (SELECT MAX(r.area) FROM regions r WHERE r.code = p.region_code) > 500;
--plan> reads persons, regions; protects a row
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Age groups of five years.
SELECT age // 5 * 5 AS from_age, COUNT(*) FROM persons WHERE age IS NOT NULL GROUP BY from_age HAVING COUNT(*) > 0 ORDER BY from_age;
--plan> reads persons; protects a row
--plan> groups: public, 23 values of multiply(integer_divide(age, 5), 5)
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- A population pyramid.
SELECT FLOOR(age / 10) AS decade, sex, COUNT(*) FROM persons WHERE age IS NOT NULL AND sex IS NOT NULL GROUP BY decade, sex HAVING COUNT(*) > 0 ORDER BY decade, sex;
--plan> reads persons; protects a row
--plan> groups: public, 12 values of floor(divide(age, 10)) × F/M of sex
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- Age classes by a list.
SELECT CASE WHEN age < 15 THEN 'child' WHEN age < 65 THEN 'working age' WHEN age >= 65 THEN 'older' END AS class, COUNT(*) FROM persons WHERE age IS NOT NULL GROUP BY class;
--but> every public key appears
--plan> reads persons; protects a row
--plan> groups: public, child/working age/older/NULL of case(less(age, 15), 'child', less(age, 65), 'working age', greater_equal(age, 65), 'older', None)
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- Age classes with those of no known age.
SELECT CASE WHEN age < 15 THEN 'child' WHEN age < 65 THEN 'working age' WHEN age >= 65 THEN 'older' END AS class, COUNT(*) FROM persons GROUP BY class;
--plan> reads persons; protects a row
--plan> groups: public, child/working age/older/NULL of case(less(age, 15), 'child', less(age, 65), 'working age', greater_equal(age, 65), 'older', None)
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- The dependency ratio.
SELECT COUNT_IF(age < 15 OR age >= 65) / COUNT_IF(age BETWEEN 15 AND 64) AS ratio FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> rows with a value of case(or(less(age, 15), greater_equal(age, 65)), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> rows with a value of case(between(age, 15, 64), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Education by sex.
SELECT education, sex, COUNT(*) FROM persons WHERE education IS NOT NULL AND sex IS NOT NULL GROUP BY education, sex ORDER BY education, sex;
--plan> reads persons; protects a row
--plan> groups: public, none/school/college/university of education × F/M of sex
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- The share of those with a degree.
SELECT region_code, AVG(CASE WHEN education = 'university' THEN 1 ELSE 0 END) AS share FROM persons WHERE region_code IS NOT NULL GROUP BY region_code;
--but> every public key appears
--plan> reads persons; protects a row
--plan> groups: public, all regions.code of region_code
--plan> sum of case(equal(education, 'university'), 1, 0): L1 2, Linf 1, L2² 2; DiscreteGaussian
--plan> units: L1 2, Linf 1, L2² 2; DiscreteGaussian

-- Income by education.
SELECT education, AVG(income), STDDEV_SAMP(income), COUNT(income) FROM persons WHERE education IS NOT NULL GROUP BY education;
--plan> reads persons; protects a row
--plan> groups: public, none/school/college/university of education
--plan> sum of income in steps of 0.005 from 30000000: L1 60000000, Linf 30000000, L2² 1800000000000000; SummedNoise
--plan> rows with a value of income: L1 60000000, Linf 30000000, L2² 1800000000000000; SummedNoise
--plan> sum of power(subtract(income, 150000.0), 2) in steps of 1024.0 from 10986328: L1 21972656, Linf 21972656, L2² 482797611694336; DiscreteLaplace

-- Income by occupation, in any case.
SELECT LOWER(occupation) AS job, AVG(income), COUNT(*) FROM persons WHERE occupation IS NOT NULL GROUP BY job;
--plan> reads persons; protects a row
--plan> groups: selected privately, by lower(occupation)
--plan> sum of income in steps of 0.005 from 30000000: L1 60000000, Linf 30000000, L2² 1800000000000000; SummedNoise
--plan> rows with a value of income: L1 60000000, Linf 30000000, L2² 1800000000000000; SummedNoise
--plan> units: L1 2, Linf 1, L2² 2; TruncatedGeometric

-- Quartiles of income, which are as fine as a few thousandths of a percent of its bounds.
SELECT ROUND(QUANTILE_DISC(income, 0.25), -2), ROUND(QUANTILE_DISC(income, 0.75), -2) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> rows on either side of a value of income at 1/4, 3/4 in steps of 1/1048576: L1 2446678, Linf 2446678, L2² 5986233235684; Geometric
--plan> rows between values around the picked ones: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- The median age by sex.
SELECT sex, MEDIAN(age) FROM persons WHERE sex IS NOT NULL GROUP BY sex;
--duckdb> SELECT sex, QUANTILE_DISC(age, 0.5) FROM persons WHERE sex IS NOT NULL GROUP BY sex
--plan> reads persons; protects a row
--plan> groups: public, F/M of sex
--plan> rows on either side of a value of age at 1/2 in steps of 1/1048576: L1 1048576, Linf 1048576, L2² 1099511627776; Geometric
--plan> rows between values around the picked ones: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- The median and the last decile.
SELECT QUANTILE_DISC(age, 0.5), QUANTILE_DISC(age, 0.9) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> rows on either side of a value of age at 1/2, 9/10 in steps of 1/1048576: L1 2213660, Linf 2213660, L2² 4900290595600; Geometric
--plan> rows between values around the picked ones: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- The youngest and the oldest.
SELECT MIN(age), MAX(age), MAX(hours) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> rows on either side of a value of age at 0, 1 in steps of 1/1048576: L1 3145728, Linf 3145728, L2² 9895604649984; Geometric
--plan> rows between values around the picked ones: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> rows on either side of a value of hours at 1 in steps of 1/1048576: L1 1048576, Linf 1048576, L2² 1099511627776; Geometric
--plan> rows between values around the picked ones: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- The gap between the sexes.
SELECT AVG(income) FILTER (WHERE sex = 'M') - AVG(income) FILTER (WHERE sex = 'F') AS gap FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of case(equal(sex, 'M'), income, None) in steps of 0.005 from 30000000: L1 60000000, Linf 30000000, L2² 1800000000000000; SummedNoise
--plan> rows with a value of case(equal(sex, 'M'), income, None): L1 60000000, Linf 30000000, L2² 1800000000000000; SummedNoise
--plan> sum of case(equal(sex, 'F'), income, None) in steps of 0.005 from 30000000: L1 60000000, Linf 30000000, L2² 1800000000000000; SummedNoise
--plan> rows with a value of case(equal(sex, 'F'), income, None): L1 60000000, Linf 30000000, L2² 1800000000000000; SummedNoise

-- Income for an hour.
SELECT AVG(CASE WHEN hours > 0 AND income / (hours * 52) <= 300 THEN income / (hours * 52) END) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of case(and(greater(hours, 0), less_equal(divide(income, multiply(hours, 52)), 300)), divide(income, multiply(hours, 52)), None) in steps of 1/128 from 19200000: L1 38400000, Linf 19200000, L2² 737280000000000; SummedNoise
--plan> rows with a value of case(and(greater(hours, 0), less_equal(divide(income, multiply(hours, 52)), 300)), divide(income, multiply(hours, 52)), None): L1 38400000, Linf 19200000, L2² 737280000000000; SummedNoise

-- Hours against income.
SELECT CORR(hours, income), COVAR_SAMP(hours, commute), COVAR_POP(age, hours) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of case(not(is_null(income)), hours, None) from 50: L1 100, Linf 100, L2² 10000; DiscreteLaplace
--plan> sum of case(not(is_null(hours)), income, None) in steps of 0.01 from 15000000: L1 30000000, Linf 30000000, L2² 900000000000000; DiscreteLaplace
--plan> sum of multiply(subtract(case(not(is_null(income)), hours, None), 50.0), subtract(case(not(is_null(hours)), income, None), 150000.0)) in steps of 0.5: L1 30000000, Linf 30000000, L2² 900000000000000; DiscreteLaplace
--plan> rows with a value of case(not(is_null(income)), hours, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> sum of power(subtract(case(not(is_null(income)), hours, None), 50.0), 2) from 1250: L1 2500, Linf 2500, L2² 6250000; DiscreteLaplace
--plan> sum of power(subtract(case(not(is_null(hours)), income, None), 150000.0), 2) in steps of 1024.0 from 10986328: L1 21972656, Linf 21972656, L2² 482797611694336; DiscreteLaplace
--plan> sum of case(not(is_null(commute)), hours, None) from 50: L1 100, Linf 100, L2² 10000; DiscreteLaplace
--plan> sum of case(not(is_null(hours)), commute, None) in steps of 1/131072 from 15728640: L1 31457280, Linf 31457280, L2² 989560464998400; DiscreteLaplace
--plan> sum of multiply(subtract(case(not(is_null(commute)), hours, None), 50.0), subtract(case(not(is_null(hours)), commute, None), 120.0)) in steps of 1/2048: L1 24576000, Linf 24576000, L2² 603979776000000; DiscreteLaplace
--plan> rows with a value of case(not(is_null(commute)), hours, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> sum of case(not(is_null(hours)), age, None) from 55: L1 110, Linf 110, L2² 12100; DiscreteLaplace
--plan> sum of case(not(is_null(age)), hours, None) from 50: L1 100, Linf 100, L2² 10000; DiscreteLaplace
--plan> sum of multiply(subtract(case(not(is_null(hours)), age, None), 55.0), subtract(case(not(is_null(age)), hours, None), 50.0)): L1 5500, Linf 5500, L2² 30250000; DiscreteLaplace
--plan> rows with a value of case(not(is_null(hours)), age, None): L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Commuting classes.
SELECT WIDTH_BUCKET(commute, 0, 120, 4) AS class, COUNT(*) FROM persons WHERE commute IS NOT NULL GROUP BY class HAVING COUNT(*) > 0 ORDER BY class;
--duckdb> SELECT CASE WHEN commute < 0 THEN 0 WHEN commute >= 120 THEN 5 ELSE FLOOR(commute / 30)::INT + 1 END AS class, COUNT(*) FROM persons WHERE commute IS NOT NULL GROUP BY class ORDER BY class
--plan> reads persons; protects a row
--plan> groups: public, 6 values of width_bucket(commute, 0, 120, 4)
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- Married by age class.
SELECT age >= 40 AS older, married, COUNT(*) FROM persons WHERE age IS NOT NULL AND married IS NOT NULL GROUP BY ALL;
--plan> reads persons; protects a row
--plan> groups: public, False/True of greater_equal(age, 40) × False/True of married
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- Who did not answer.
SELECT COUNT_IF(income IS NULL), COUNT_IF(hours IS NULL), COUNT(*) - COUNT(commute) AS no_commute FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> rows with a value of case(is_null(income), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> rows with a value of case(is_null(hours), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> units: L1 0, Linf 0, L2² 0; exact
--plan> rows with a value of commute: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Birthplaces by country.
SELECT TRIM(SPLIT_PART(LOWER(birthplace), ',', 2)) AS country, COUNT(*) FROM persons WHERE birthplace IS NOT NULL GROUP BY country;
--plan> reads persons; protects a row
--plan> groups: selected privately, by trim(split_part(lower(birthplace), ',', 2))
--plan> units: L1 2, Linf 1, L2² 2; TruncatedGeometric

-- Years of birth.
SELECT DECADE(born) * 10 AS decade, COUNT(*) FROM persons WHERE born IS NOT NULL GROUP BY decade HAVING COUNT(*) > 0 ORDER BY decade;
--plan> reads persons; protects a row
--plan> groups: public, 12 values of multiply(part_decade(born), 10)
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- Interviews by week.
SELECT DATE_TRUNC('week', interviewed) AS week, COUNT(*) FROM persons WHERE interviewed IS NOT NULL GROUP BY week ORDER BY week;
--plan> reads persons; protects a row
--plan> groups: public, 14 values of trunc_week(interviewed)
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- Interviews by hour.
SELECT HOUR(interviewed) AS hour, COUNT(*) FROM persons WHERE interviewed IS NOT NULL GROUP BY hour ORDER BY hour;
--plan> reads persons; protects a row
--plan> groups: public, 24 values of part_hour(interviewed)
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- Age at the interview.
SELECT AVG(DATE_DIFF('year', born, interviewed::DATE)) FROM persons WHERE born <= interviewed::DATE;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of diff_year(born, cast_date(interviewed)) in steps of 0.5 from 114: L1 933888, Linf 466944, L2² 436073398272; SummedNoise
--plan> rows with a value of diff_year(born, cast_date(interviewed)): L1 933888, Linf 466944, L2² 436073398272; SummedNoise

-- Different answers.
SELECT COUNT(DISTINCT occupation), COUNT(DISTINCT LOWER(occupation)), COUNT(DISTINCT income), COUNT(DISTINCT region_code) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> distinct values of occupation: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> distinct values of lower(occupation): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> distinct values of income: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> distinct values of region_code: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- A derived table.
SELECT class, COUNT(*), AVG(income) FROM (SELECT income, CASE WHEN hours = 0 THEN 'none' WHEN hours < 35 THEN 'part' ELSE 'full' END AS class FROM persons WHERE hours IS NOT NULL) AS w GROUP BY class;
--plan> reads persons; protects a row
--plan> groups: selected privately, by a subquery's c1
--plan> units: L1 2, Linf 1, L2² 2; TruncatedGeometric
--plan> sum of income in steps of 0.005 from 30000000: L1 60000000, Linf 30000000, L2² 1800000000000000; SummedNoise
--plan> rows with a value of income: L1 60000000, Linf 30000000, L2² 1800000000000000; SummedNoise

-- A common table expression over persons.
WITH workers AS (SELECT sex, hours, income FROM persons WHERE hours > 0) SELECT sex, AVG(hours), SUM(income) FROM workers WHERE sex IS NOT NULL GROUP BY sex;
--plan> reads persons; protects a row
--plan> groups: public, F/M of sex
--plan> sum of hours in steps of 0.5 from 101: L1 811008, Linf 405504, L2² 328866988032; SummedNoise
--plan> units: L1 811008, Linf 405504, L2² 328866988032; SummedNoise
--plan> sum of income in steps of 0.01: L1 60000000, Linf 30000000, L2² 1800000000000000; DiscreteLaplace

-- Top occupations.
SELECT occupation, COUNT(*) AS n FROM persons WHERE occupation IS NOT NULL GROUP BY occupation ORDER BY n DESC, occupation LIMIT 2;
--plan> reads persons; protects a row
--plan> groups: selected privately, by occupation
--plan> units: L1 2, Linf 1, L2² 2; TruncatedGeometric

-- A label for a region, from the public table.
SELECT CONCAT(r.region, ' (', r.country, ')') AS label, COUNT(*) FROM persons p JOIN regions r ON p.region_code = r.code GROUP BY label;
--but> every public key appears
--plan> reads persons, regions; protects a row
--plan> groups: public, those in regions of concat(region, ' (', country, ')')
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- Regions by themselves are public.
SELECT country, COUNT(*), SUM(area) FROM regions WHERE country IS NOT NULL GROUP BY country ORDER BY country;
--plan> reads regions; protects nobody
--plan> groups: selected privately, by country
--plan> units: L1 0, Linf 0, L2² 0; exact
--plan> sum of area in steps of 0.1: L1 0, Linf 0, L2² 0; exact

-- A public question with a window.
SELECT region, area, RANK() OVER (ORDER BY area DESC) AS place FROM regions ORDER BY place;
--plan> reads regions; protects nobody; rows as they are
