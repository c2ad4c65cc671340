-- What each person did, counted inside; how it is spread over people, asked outside.

-- How visits are spread over people.
SELECT n, COUNT(*) AS people FROM (SELECT person_id, COUNT(*) AS n FROM visits GROUP BY person_id) AS t GROUP BY n HAVING people > 0 ORDER BY n;
--plan> reads visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, 13 values of a subquery's c1
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- The mean number of visits of those who came.
SELECT AVG(n) FROM (SELECT person_id, COUNT(*) AS n FROM visits GROUP BY person_id) AS t;
--plan> reads visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of a subquery's c1 from 6: L1 6, Linf 6, L2² 36; DiscreteGaussian
--plan> units: L1 1, Linf 1, L2² 1; DiscreteGaussian

-- Mean and spread of what a person cost.
SELECT AVG(total), STDDEV_POP(total), COUNT(*) FROM (SELECT person_id, SUM(cost) AS total FROM visits GROUP BY person_id) AS t;
--plan> reads visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of a subquery's c1 in steps of 0.005 from 12000000: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise
--plan> rows with a value of a subquery's c1: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise
--plan> sum of power(subtract(a subquery's c1, 60000.0), 2) in steps of 128.0 from 14062500: L1 14062500, Linf 14062500, L2² 197753906250000; DiscreteLaplace
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- How many people cost more than a thousand.
SELECT COUNT(*) FROM (SELECT person_id FROM visits GROUP BY person_id HAVING SUM(cost) > 1000) AS t;
--plan> reads visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Bands of what people cost.
SELECT CASE WHEN total >= 5000 THEN 'high' WHEN total >= 500 THEN 'middle' ELSE 'low' END AS band, COUNT(*) FROM (SELECT person_id, SUM(cost) AS total FROM visits GROUP BY person_id) AS t GROUP BY band;
--plan> reads visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, high/middle/low of case(greater_equal(a subquery's c1, 5000), 'high', greater_equal(a subquery's c1, 500), 'middle', 'low')
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- People in several wards.
SELECT COUNT(*) FROM (SELECT person_id, COUNT(DISTINCT ward) AS wards FROM visits GROUP BY person_id) AS t WHERE wards > 1;
--plan> reads visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- From emergency to surgery: a conversion rate.
SELECT COUNT_IF(s AND e) AS both_wards, COUNT_IF(e) AS emergency, COUNT_IF(s AND e) / COUNT_IF(e) AS rate FROM (SELECT person_id, BOOL_OR(ward = 'emergency') AS e, BOOL_OR(ward = 'surgery') AS s FROM visits GROUP BY person_id) AS t;
--plan> reads visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> rows with a value of case(and(a subquery's c2, a subquery's c1), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> rows with a value of case(a subquery's c1, 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace

-- The same with maxima of conditions.
SELECT SUM(e), SUM(s), SUM(e * s) FROM (SELECT person_id, MAX(CASE WHEN ward = 'emergency' THEN 1 ELSE 0 END) AS e, MAX(CASE WHEN ward = 'surgery' THEN 1 ELSE 0 END) AS s FROM visits GROUP BY person_id) AS t;
--plan> reads visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of a subquery's c1: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> sum of a subquery's c2: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> sum of multiply(a subquery's c1, a subquery's c2): L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Days between the first and the last visit.
SELECT AVG(DATE_DIFF('day', first, last)) FROM (SELECT person_id, MIN(arrived) AS first, MAX(arrived) AS last FROM visits GROUP BY person_id HAVING COUNT(*) > 1) AS t;
--plan> reads visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of diff_day(a subquery's c1, a subquery's c2) in steps of 0.5: L1 373760, Linf 373760, L2² 139696537600; SummedNoise
--plan> rows with a value of diff_day(a subquery's c1, a subquery's c2): L1 373760, Linf 373760, L2² 139696537600; SummedNoise

-- First visits by month.
SELECT DATE_TRUNC('month', first) AS month, COUNT(*) FROM (SELECT person_id, MIN(arrived) AS first FROM visits GROUP BY person_id) AS t WHERE first IS NOT NULL GROUP BY month HAVING COUNT(*) > 0 ORDER BY month;
--plan> reads visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, 24 values of trunc_month(a subquery's c1)
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- The worst severity of each person.
SELECT worst, COUNT(*) FROM (SELECT person_id, MAX(severity) AS worst FROM visits GROUP BY person_id) AS t GROUP BY worst ORDER BY worst;
--but> rows without a public key are left out
--plan> reads visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, 5 values of a subquery's c1
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Means of means.
SELECT AVG(mean) FROM (SELECT person_id, AVG(cost) AS mean FROM visits GROUP BY person_id) AS t;
--plan> reads visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of a subquery's c1 in steps of 1/4096 from 20480000: L1 20480000, Linf 20480000, L2² 419430400000000; SummedNoise
--plan> rows with a value of a subquery's c1: L1 20480000, Linf 20480000, L2² 419430400000000; SummedNoise

-- Conditional counts of each person.
SELECT AVG(u), SUM(r) FROM (SELECT person_id, COUNT(*) FILTER (WHERE urgent) AS u, COUNT_IF(severity = 1) AS r FROM visits GROUP BY person_id) AS t;
--plan> reads visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of a subquery's c1 from 6: L1 6, Linf 6, L2² 36; DiscreteGaussian
--plan> units: L1 1, Linf 1, L2² 1; DiscreteGaussian
--plan> sum of a subquery's c2 from 6: L1 6, Linf 6, L2² 36; DiscreteGaussian

-- A person's share of urgent visits.
SELECT COUNT(*) FROM (SELECT person_id, COUNT_IF(urgent) * 1.0 / COUNT(*) AS share FROM visits GROUP BY person_id) AS t WHERE share >= 0.5;
--plan> reads visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Persons by ward: one row for each pair.
SELECT ward, AVG(n) FROM (SELECT person_id, ward, COUNT(*) AS n FROM visits WHERE ward IS NOT NULL GROUP BY person_id, ward) AS t GROUP BY ward;
--but> every public key appears
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, all wards.ward of ward
--plan> sum of a subquery's c2 in steps of 0.5 from 12 scaled to L1 12 rows in parts of 1/4096: L1 589824, Linf 589824, L2² 347892350976; SummedNoise
--plan> rows scaled to L1 12 rows in parts of 1/49152: L1 589824, Linf 589824, L2² 347892350976; SummedNoise

-- Diagnoses of a visit, counted per visit.
SELECT n, COUNT(*) FROM (SELECT visit_id, COUNT(*) AS n FROM diagnoses GROUP BY visit_id) AS t GROUP BY n HAVING COUNT(*) > 0 ORDER BY n;
--plan> reads diagnoses; protects person_id, at most 36 rows in 36 groups, 36 in one
--plan> groups: public, 37 values of a subquery's c1
--plan> rows scaled to L1 36 rows in parts of 1/16384: L1 589824, Linf 589824, L2² 347892350976; DiscreteLaplace

-- Diagnoses of a person, through visits.
SELECT AVG(n), MIN(n) FROM (SELECT v.person_id, COUNT(*) AS n FROM visits v JOIN diagnoses d USING (visit_id) GROUP BY v.person_id) AS t;
--plan> reads visits, diagnoses; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of a subquery's c1 from 18: L1 18, Linf 18, L2² 324; DiscreteGaussian
--plan> units: L1 1, Linf 1, L2² 1; DiscreteGaussian
--plan> rows on either side of a value of a subquery's c1 at 0 in steps of 1/1048576: L1 1048576, Linf 1048576, L2² 1099511627776; Geometric
--plan> rows between values around the picked ones: L1 1, Linf 1, L2² 1; DiscreteGaussian

-- Attributes of the person beside the count.
SELECT sex, AVG(n) FROM (SELECT p.person_id, p.sex, COUNT(v.visit_id) AS n FROM people p LEFT JOIN visits v ON v.person_id = p.person_id GROUP BY p.person_id, p.sex) AS t WHERE sex IS NOT NULL GROUP BY sex;
--plan> reads people, visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, F/M/X of sex
--plan> sum of a subquery's c2 from 6: L1 6, Linf 6, L2² 36; DiscreteGaussian
--plan> units: L1 1, Linf 1, L2² 1; DiscreteGaussian

-- A pipeline of three steps.
WITH counted AS (SELECT person_id, COUNT(*) AS n, SUM(cost) AS total FROM visits GROUP BY person_id), banded AS (SELECT CASE WHEN n > 2 THEN 'often' ELSE 'seldom' END AS how, total FROM counted) SELECT how, COUNT(*), AVG(total) FROM banded GROUP BY how;
--plan> reads visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by a subquery's c0
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric
--plan> sum of a subquery's c1 in steps of 0.005 from 12000000: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise
--plan> rows with a value of a subquery's c1: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise

-- First visits by a window.
SELECT ward, COUNT(*) FROM (SELECT ward, ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY arrived, visit_id) AS place FROM visits) AS t WHERE place = 1 AND ward IS NOT NULL GROUP BY ward;
--but> every public key appears
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, all wards.ward of ward
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- First visits by QUALIFY.
SELECT COUNT(*), AVG(severity) FROM (SELECT severity FROM visits WHERE arrived IS NOT NULL QUALIFY ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY arrived) = 1) AS t;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteGaussian
--plan> sum of severity from 3: L1 24, Linf 24, L2² 576; DiscreteGaussian
--plan> rows with a value of severity: L1 12, Linf 12, L2² 144; DiscreteGaussian

-- First visits by a window without a tie-breaker.
SELECT SUM(cost) FROM (SELECT cost, ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY arrived) AS place FROM visits WHERE arrived < TIMESTAMP '2024-12-31') AS t WHERE place = 1;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> sum of cost in steps of 0.01 scaled to L1 12000000 in parts of 1/1: L1 12000000, Linf 12000000, L2² 144000000000000; DiscreteLaplace

-- Days since the visit before.
SELECT AVG(gap) FROM (SELECT DATE_DIFF('day', LAG(arrived) OVER (PARTITION BY person_id ORDER BY arrived), arrived) AS gap FROM visits WHERE arrived IS NOT NULL) AS t WHERE gap BETWEEN 0 AND 365;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> sum of a subquery's c0 in steps of 0.5 from 365: L1 560640, Linf 560640, L2² 314317209600; SummedNoise
--plan> rows: L1 560640, Linf 560640, L2² 314317209600; SummedNoise

-- Whether the next visit is urgent.
SELECT COUNT(*) FROM (SELECT ward, LEAD(urgent) OVER (PARTITION BY person_id ORDER BY arrived) AS following FROM visits WHERE arrived IS NOT NULL) AS t WHERE following;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- How many visits come after each other.
SELECT r, COUNT(*) FROM (SELECT RANK() OVER (PARTITION BY person_id ORDER BY severity DESC) AS r FROM visits WHERE severity IS NOT NULL) AS t WHERE r <= 3 GROUP BY r ORDER BY r;
--plan> reads visits; protects person_id, at most 12 rows in 3 groups, 12 in one
--plan> groups: public, 1/2/3 of a subquery's c0
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- Different severities of a person in order.
SELECT COUNT(*) FROM (SELECT DENSE_RANK() OVER (PARTITION BY person_id ORDER BY severity) AS d FROM visits WHERE severity IS NOT NULL) AS t WHERE d = 2;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Visits with how many the person has in all.
SELECT ward, AVG(n) FROM (SELECT ward, COUNT(*) OVER (PARTITION BY person_id) AS n FROM visits) AS t WHERE n <= 12 AND ward = 'surgery' GROUP BY ward;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, those in wards of ward
--plan> sum of a subquery's c1 in steps of 0.5 from 12 scaled to L1 12 rows in parts of 1/4096: L1 589824, Linf 589824, L2² 347892350976; SummedNoise
--plan> rows scaled to L1 12 rows in parts of 1/49152: L1 589824, Linf 589824, L2² 347892350976; SummedNoise

-- The first ward of a person beside each visit.
SELECT COUNT(*) FROM (SELECT ward, FIRST_VALUE(ward) OVER (PARTITION BY person_id ORDER BY arrived) AS first FROM visits WHERE arrived IS NOT NULL) AS t WHERE ward = first;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- A running number of visits.
SELECT COUNT(*) FROM (SELECT COUNT(*) OVER (PARTITION BY person_id ORDER BY arrived) AS so_far FROM visits WHERE arrived IS NOT NULL) AS t WHERE so_far = 2;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- The largest cost of the person beside each visit.
SELECT COUNT(*) FROM (SELECT cost, MAX(cost) OVER (PARTITION BY person_id) AS most FROM visits) AS t WHERE cost = most;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Visits that cost more than half of all of the same person.
SELECT COUNT(*) FROM (SELECT cost, SUM(cost) OVER (PARTITION BY person_id) AS total FROM visits) AS t WHERE cost > total / 2;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Each ward of a person once.
SELECT ward, COUNT(*) FROM (SELECT DISTINCT person_id, ward FROM visits) AS t WHERE ward IS NOT NULL GROUP BY ward;
--but> every public key appears
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, all wards.ward of ward
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- Main diagnoses of each person, once each.
SELECT code, COUNT(*) FROM (SELECT DISTINCT v.person_id, d.code FROM visits v JOIN diagnoses d ON d.visit_id = v.visit_id WHERE d.main) AS t WHERE code IS NOT NULL GROUP BY code;
--plan> reads visits, diagnoses; protects person_id, at most 36 rows in 36 groups, 36 in one
--plan> groups: selected privately, by code
--plan> rows scaled to L1 36 rows in parts of 1/16384: L1 589824, Linf 589824, L2² 347892350976; DiscreteLaplace
--plan> units: L1 36, Linf 1, L2² 36; TruncatedGeometric

-- The median person's cost.
SELECT QUANTILE_DISC(total, 0.5) FROM (SELECT person_id, SUM(severity) AS total FROM visits GROUP BY person_id) AS t;
--plan> reads visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> rows on either side of a value of a subquery's c1 at 1/2 in steps of 1/1048576: L1 524288, Linf 524288, L2² 274877906944; Geometric
--plan> rows between values around the picked ones: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Returned within ninety days of the first visit.
WITH firsts AS (SELECT person_id, MIN(arrived) AS first FROM visits GROUP BY person_id) SELECT COUNT(DISTINCT v.person_id) FROM firsts f JOIN visits v ON v.person_id = f.person_id WHERE v.arrived > f.first AND v.arrived < f.first + INTERVAL 90 DAY;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Cohorts: the year of the first visit and how many came again.
WITH f AS (SELECT person_id, YEAR(MIN(arrived)) AS cohort, COUNT(*) AS n FROM visits GROUP BY person_id) SELECT cohort, COUNT(*) AS people, COUNT_IF(n > 1) AS came_again FROM f WHERE cohort IS NOT NULL GROUP BY cohort ORDER BY cohort;
--plan> reads visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, 2023/2024 of a subquery's c1
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> rows with a value of case(greater(a subquery's c2, 1), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
