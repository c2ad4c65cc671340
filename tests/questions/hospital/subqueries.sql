-- Subqueries of every kind; inside, numbers are exact because they are about one person.

-- A derived table that only selects.
SELECT COUNT(*), AVG(cost) FROM (SELECT cost, ward FROM visits WHERE urgent) AS u WHERE ward = 'surgery';
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> sum of cost in steps of 0.005 from 1000000: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise
--plan> rows with a value of cost: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise

-- A derived table with a star.
SELECT sex, COUNT(*) FROM (SELECT * FROM people WHERE income > 20000) AS rich WHERE sex IS NOT NULL GROUP BY sex;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, F/M/X of sex
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- A derived table that computes.
SELECT AVG(days) FROM (SELECT DATE_DIFF('day', arrived, discharged) AS days FROM visits) AS stays WHERE days BETWEEN 0 AND 30;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> sum of a subquery's c0 in steps of 0.5 from 30: L1 737280, Linf 737280, L2² 543581798400; SummedNoise
--plan> rows: L1 737280, Linf 737280, L2² 543581798400; SummedNoise

-- A derived table in a derived table.
SELECT COUNT(*) FROM (SELECT c FROM (SELECT cost * 2 AS c, severity AS s FROM visits) AS a WHERE s > 2) AS b WHERE c > 100;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Names given to the columns of a derived table.
SELECT COUNT(*), SUM(money) FROM (SELECT severity, cost FROM visits) AS v(grade, money) WHERE grade > 3;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> sum of cost in steps of 0.01: L1 12000000, Linf 12000000, L2² 144000000000000; DiscreteLaplace

-- A common table expression.
WITH urgent_ones AS (SELECT person_id, cost FROM visits WHERE urgent) SELECT COUNT(*), COUNT(DISTINCT person_id) FROM urgent_ones;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Two, of which one reads the other.
WITH costly AS (SELECT person_id, ward, cost FROM visits WHERE cost > 400), surgical AS (SELECT person_id, cost FROM costly WHERE ward = 'surgery') SELECT COUNT(*), SUM(cost) FROM surgical;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 11520000, Linf 11520000, L2² 132710400000000; SummedNoise
--plan> sum of cost in steps of 0.005 from 1040000: L1 11520000, Linf 11520000, L2² 132710400000000; SummedNoise

-- A common table expression read twice.
WITH v AS (SELECT person_id, ward FROM visits) SELECT COUNT(DISTINCT a.person_id) FROM v a JOIN v b ON a.person_id = b.person_id WHERE a.ward = 'emergency' AND b.ward = 'surgery';
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- A common table expression with column names.
WITH totals(who, total) AS (SELECT person_id, SUM(cost) FROM visits GROUP BY person_id) SELECT COUNT(*), AVG(total) FROM totals WHERE total > 1000;
--plan> reads visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 11900000, Linf 11900000, L2² 141610000000000; SummedNoise
--plan> sum of a subquery's c1 in steps of 0.005 from 12100000: L1 11900000, Linf 11900000, L2² 141610000000000; SummedNoise

-- A common table expression inside a derived table.
SELECT COUNT(*) FROM (WITH w AS (SELECT person_id FROM visits WHERE urgent) SELECT person_id FROM w) AS x;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- A public common table expression.
WITH big AS (SELECT ward FROM wards WHERE beds > 20) SELECT COUNT(*) FROM visits JOIN big USING (ward);
--plan> reads visits, wards; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Rows of two tables in one column.
SELECT COUNT(*) FROM (SELECT cost FROM visits WHERE urgent UNION ALL SELECT cost FROM visits WHERE severity = 5) AS both_kinds;
--plan> reads visits; protects person_id, at most 24 rows in 1 group, 24 in one
--plan> groups: one
--plan> rows: L1 24, Linf 24, L2² 576; DiscreteLaplace

-- Every event of a person, told apart.
SELECT what, COUNT(*) FROM (SELECT person_id, 'born' AS what FROM people UNION ALL SELECT person_id, 'visit' FROM visits) AS events GROUP BY what;
--plan> reads people, visits; protects person_id, at most 13 rows in 13 groups, 13 in one
--plan> groups: selected privately, by a subquery's c1
--plan> rows scaled to L2² 46 rows in parts of 1/131072: L1 790273982464, Linf 888973, L2² 790273982464; DiscreteGaussian
--plan> units weighted by their groups in steps of 1/1024: L1 3693, Linf 1024, L2² 1048576; DiscreteGaussian

-- Persons in one list or the other, once each.
SELECT COUNT(*) FROM (SELECT person_id FROM visits WHERE urgent UNION SELECT person_id FROM visits WHERE cost > 900) AS seen;
--plan> reads visits; protects person_id, at most 24 rows in 1 group, 24 in one
--plan> groups: one
--plan> rows: L1 24, Linf 24, L2² 576; DiscreteLaplace

-- Three parts.
SELECT COUNT(DISTINCT person_id) FROM (SELECT person_id FROM visits WHERE ward = 'surgery' UNION ALL SELECT person_id FROM visits WHERE ward = 'oncology' UNION ALL SELECT person_id FROM people WHERE smoker) AS cases;
--plan> reads visits, people; protects person_id, at most 25 rows in 1 group, 25 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Numbers of two types in one column.
SELECT SUM(x), COUNT(x) FROM (SELECT severity AS x FROM visits UNION ALL SELECT cost FROM visits) AS numbers;
--plan> reads visits; protects person_id, at most 24 rows in 1 group, 24 in one
--plan> groups: one
--plan> sum of a subquery's c0 in steps of 1/4096 from 20480000: L1 491520000, Linf 491520000, L2² 241591910400000000; SummedNoise
--plan> rows with a value of a subquery's c0: L1 491520000, Linf 491520000, L2² 241591910400000000; SummedNoise

-- People with a visit.
SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person_id = p.person_id);
--plan> reads people, visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- People without one.
SELECT COUNT(*) FROM people p WHERE NOT EXISTS (SELECT * FROM visits v WHERE v.person_id = p.person_id);
--plan> reads people, visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- People with an urgent visit to surgery, by sex.
SELECT p.sex, COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person_id = p.person_id AND v.ward = 'surgery' AND v.urgent) AND p.sex IS NOT NULL GROUP BY p.sex;
--but> every public key appears
--plan> reads people, visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, F/M/X of sex
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- The same with IN.
SELECT COUNT(*) FROM people WHERE person_id IN (SELECT person_id FROM visits WHERE ward = 'surgery' AND urgent);
--plan> reads people, visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- People not among those with an urgent visit.
SELECT COUNT(*), AVG(income) FROM people WHERE person_id NOT IN (SELECT person_id FROM visits WHERE urgent);
--plan> reads people, visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> sum of income in steps of 0.005 from 20000000: L1 20000000, Linf 20000000, L2² 400000000000000; SummedNoise
--plan> rows with a value of income: L1 20000000, Linf 20000000, L2² 400000000000000; SummedNoise

-- Visits that have a diagnosis.
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM diagnoses d WHERE d.visit_id = v.visit_id AND d.main);
--plan> reads visits, diagnoses; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Visits without one.
SELECT ward, COUNT(*) FROM visits v WHERE ward IS NOT NULL AND v.visit_id NOT IN (SELECT visit_id FROM diagnoses) GROUP BY ward;
--but> every public key appears
--plan> reads visits, diagnoses; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, all wards.ward of ward
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- Visits to wards of a kind.
SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM wards WHERE kind = 'medical');
--plan> reads visits, wards; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Visits to no ward of a kind.
SELECT COUNT(*) FROM visits WHERE ward NOT IN (SELECT ward FROM wards WHERE floor > 2);
--plan> reads visits, wards; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- A public table asked with EXISTS.
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM wards w WHERE w.ward = v.ward AND w.beds >= 30);
--plan> reads visits, wards; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- A public number as a value.
SELECT COUNT(*) FROM people WHERE income > (SELECT AVG(population) / 50 FROM cities);
--plan> reads people, cities; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- A public number of this row's city.
SELECT COUNT(*) FROM people p WHERE p.income > (SELECT MAX(c.population) / 20 FROM cities c WHERE c.city = p.city);
--plan> reads people, cities; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Visits that cost more than the same person's mean.
SELECT COUNT(*) FROM visits v WHERE v.cost > (SELECT AVG(w.cost) FROM visits w WHERE w.person_id = v.person_id);
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- The first visit of each person.
SELECT ward, COUNT(*) FROM visits v WHERE ward IS NOT NULL AND arrived = (SELECT MIN(w.arrived) FROM visits w WHERE w.person_id = v.person_id) GROUP BY ward;
--but> every public key appears
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, all wards.ward of ward
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- People with three visits or more.
SELECT COUNT(*) FROM people p WHERE (SELECT COUNT(*) FROM visits v WHERE v.person_id = p.person_id) >= 3;
--plan> reads people, visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- How many visits each person has, as a value.
SELECT n, COUNT(*) FROM (SELECT (SELECT COUNT(*) FROM visits v WHERE v.person_id = p.person_id) AS n FROM people p) AS t GROUP BY n HAVING COUNT(*) > 0 ORDER BY n;
--plan> reads people, visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, 13 values of a subquery's c0
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- People whose every visit was urgent.
SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person_id = p.person_id) AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.person_id = p.person_id AND NOT COALESCE(v.urgent, FALSE));
--plan> reads people, visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- A subquery in CASE.
SELECT COUNT(CASE WHEN EXISTS (SELECT 1 FROM visits v WHERE v.person_id = p.person_id) THEN 1 END) AS came, COUNT(*) AS everybody FROM people p;
--plan> reads people, visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> rows with a value of case((exists in visits), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- IN with a grouped subquery.
SELECT COUNT(*) FROM people WHERE person_id IN (SELECT person_id FROM visits GROUP BY person_id HAVING COUNT(*) > 2);
--plan> reads people, visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- A visit of somebody who also came to another ward.
SELECT COUNT(*) FROM visits v WHERE v.ward = 'emergency' AND v.person_id IN (SELECT person_id FROM visits WHERE ward = 'cardiology');
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- People who came to two wards.
SELECT COUNT(*) FROM (SELECT person_id FROM visits WHERE ward = 'emergency' INTERSECT SELECT person_id FROM visits WHERE ward = 'cardiology') AS in_both;
--plan> reads visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- People without a visit, but for those who smoke.
SELECT sex, COUNT(*) FROM people WHERE person_id IN ((SELECT person_id FROM people WHERE NOT smoker) EXCEPT (SELECT v.person_id FROM visits v)) GROUP BY sex;
--but> rows without a public key are left out
--plan> reads people, visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, F/M/X of sex
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Several of them at once.
SELECT COUNT(*) FROM (SELECT p.person_id FROM people AS p EXCEPT SELECT person_id FROM visits WHERE urgent INTERSECT SELECT person_id FROM visits WHERE cost > 5000) AS left_over;
--plan> reads people, visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace
