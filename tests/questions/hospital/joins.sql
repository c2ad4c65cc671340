-- Joins along the unit, along foreign keys and with public tables.

-- People and their visits, by the unit.
SELECT COUNT(*) FROM people p JOIN visits v ON p.person_id = v.person_id;
--plan> reads people, visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- The same, with the column both have.
SELECT p.sex, COUNT(*) FROM people p JOIN visits v USING (person_id) WHERE p.sex IS NOT NULL GROUP BY p.sex;
--plan> reads people, visits; protects person_id, at most 12 rows in 3 groups, 12 in one
--plan> groups: public, F/M/X of sex
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- The same, naturally.
SELECT sex, AVG(cost) FROM people NATURAL JOIN visits WHERE sex IS NOT NULL GROUP BY sex;
--plan> reads people, visits; protects person_id, at most 12 rows in 3 groups, 12 in one
--plan> groups: public, F/M/X of sex
--plan> sum of cost in steps of 0.005 from 1000000 scaled to L1 12 rows in parts of 1/1: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise
--plan> rows with a value of cost scaled to L1 12 rows in parts of 1/1000000: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise

-- The old way to join.
SELECT COUNT(*) FROM people, visits WHERE people.person_id = visits.person_id AND people.smoker;
--plan> reads people, visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- INNER is the same word.
SELECT COUNT(*) FROM visits INNER JOIN people ON visits.person_id = people.person_id;
--plan> reads visits, people; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- People without visits are kept.
SELECT COUNT(*), COUNT(v.cost), COUNT(DISTINCT p.person_id) FROM people p LEFT JOIN visits v ON v.person_id = p.person_id;
--plan> reads people, visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> rows with a value of cost: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- People who never came.
SELECT COUNT(*) FROM people p LEFT JOIN visits v ON p.person_id = v.person_id WHERE v.person_id IS NULL;
--plan> reads people, visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Visits are kept, people are not.
SELECT COUNT(*), COUNT(p.income) FROM people p RIGHT JOIN visits v ON p.person_id = v.person_id;
--plan> reads people, visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> rows with a value of income: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Both are kept.
SELECT COUNT(*), COUNT(p.income), COUNT(v.severity) FROM people p FULL JOIN visits v ON p.person_id = v.person_id;
--plan> reads people, visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> rows with a value of income: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> rows with a value of severity: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- FULL OUTER with a count of those who never came.
SELECT COUNT(DISTINCT p.person_id) FROM people p FULL OUTER JOIN visits v ON p.person_id = v.person_id;
--plan> reads people, visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> units of case(not(is_null(person_id)), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Diagnoses with their visits, along a foreign key.
SELECT v.ward, COUNT(*) FROM visits v JOIN diagnoses d ON d.visit_id = v.visit_id WHERE v.ward IS NOT NULL GROUP BY v.ward;
--but> every public key appears
--plan> reads visits, diagnoses; protects person_id, at most 36 rows in 36 groups, 36 in one
--plan> groups: public, all wards.ward of ward
--plan> rows scaled to L1 36 rows in parts of 1/16384: L1 589824, Linf 589824, L2² 347892350976; DiscreteLaplace

-- Three tables of one person.
SELECT p.sex, d.code, COUNT(*) FROM people p JOIN visits v ON v.person_id = p.person_id JOIN diagnoses d ON d.visit_id = v.visit_id WHERE p.sex IS NOT NULL AND d.code IS NOT NULL GROUP BY p.sex, d.code;
--plan> reads people, visits, diagnoses; protects person_id, at most 36 rows in 36 groups, 36 in one
--plan> groups: selected privately, by sex, code
--plan> rows scaled to L1 36 rows in parts of 1/16384: L1 589824, Linf 589824, L2² 347892350976; DiscreteLaplace
--plan> units: L1 36, Linf 1, L2² 36; TruncatedGeometric

-- Three tables, all by USING.
SELECT COUNT(DISTINCT person_id) FROM people JOIN visits USING (person_id) JOIN diagnoses USING (visit_id) WHERE code LIKE 'I10%';
--plan> reads people, visits, diagnoses; protects person_id, at most 36 rows in 1 group, 36 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Diagnoses alone are counted by person all the same.
SELECT code, COUNT(*) FROM diagnoses WHERE main AND code IS NOT NULL GROUP BY code;
--plan> reads diagnoses; protects person_id, at most 36 rows in 36 groups, 36 in one
--plan> groups: selected privately, by code
--plan> rows scaled to L1 36 rows in parts of 1/16384: L1 589824, Linf 589824, L2² 347892350976; DiscreteLaplace
--plan> units: L1 36, Linf 1, L2² 36; TruncatedGeometric

-- Visits with what is known of the ward.
SELECT w.kind, COUNT(*), AVG(v.cost) FROM visits v JOIN wards w ON v.ward = w.ward WHERE w.kind IS NOT NULL GROUP BY w.kind;
--plan> reads visits, wards; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, those in wards of kind
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace
--plan> sum of cost in steps of 0.005 from 1000000 scaled to L1 12 rows in parts of 1/1: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise
--plan> rows with a value of cost scaled to L1 12 rows in parts of 1/1000000: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise

-- The floor as a key.
SELECT floor, COUNT(*) FROM visits JOIN wards USING (ward) GROUP BY floor ORDER BY floor;
--but> every public key appears
--plan> reads visits, wards; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, those in wards of floor
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- Naturally, with a public table.
SELECT region, COUNT(*) FROM people NATURAL JOIN cities GROUP BY region;
--plan> reads people, cities; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, those in cities of region
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Visits whose ward is not known are kept.
SELECT COUNT(*), COUNT(w.floor), COUNT(w.kind) FROM visits v LEFT JOIN wards w ON v.ward = w.ward;
--plan> reads visits, wards; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> rows with a value of floor: L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> rows with a value of kind: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Wards without visits are shown with nothing.
SELECT w.ward, COUNT(v.ward) AS n FROM wards w LEFT JOIN visits v ON v.ward = w.ward GROUP BY w.ward ORDER BY n DESC, w.ward;
--plan> reads wards, visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, those in wards of ward
--plan> rows with a value of ward scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- The same from the other side.
SELECT w.ward, COUNT(v.severity) FROM visits v RIGHT JOIN wards w ON v.ward = w.ward GROUP BY w.ward;
--plan> reads visits, wards; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, those in wards of ward
--plan> rows with a value of severity scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- A sum per ward where some have none.
SELECT w.ward, SUM(v.cost) FROM wards w LEFT JOIN visits v USING (ward) GROUP BY w.ward;
--but> an empty sum is 0
--plan> reads wards, visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, those in wards of ward
--plan> sum of cost in steps of 0.01 scaled to L1 12000000 in parts of 1/1: L1 12000000, Linf 12000000, L2² 144000000000000; DiscreteLaplace

-- Both kept: wards nobody was in and visits to no ward.
SELECT COUNT(v.cost), SUM(v.cost) FROM visits v FULL JOIN wards w ON v.ward = w.ward;
--plan> reads visits, wards; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows with a value of cost: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise
--plan> sum of cost in steps of 0.005 from 1000000: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise

-- A join on more than the key.
SELECT COUNT(*) FROM visits v JOIN wards w ON v.ward = w.ward AND w.beds > 20 AND v.urgent;
--plan> reads visits, wards; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- A join on a condition that is not an equality.
SELECT COUNT(*) FROM visits v JOIN wards w ON v.severity > w.floor AND v.ward <> w.ward AND w.floor > 2;
--plan> reads visits, wards; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Everybody with one public row.
SELECT COUNT(*) FROM people CROSS JOIN wards WHERE wards.floor = 9 AND people.income > wards.beds;
--plan> reads people, wards; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Two public tables and two private ones.
SELECT c.region, w.kind, COUNT(*) FROM people p JOIN visits v USING (person_id) JOIN cities c ON p.city = c.city JOIN wards w ON v.ward = w.ward WHERE w.kind IS NOT NULL GROUP BY c.region, w.kind ORDER BY 1, 2;
--plan> reads people, visits, cities, wards; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, those in cities of region × those in wards of kind
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- Pairs of visits of one person.
SELECT COUNT(*) FROM visits a JOIN visits b ON a.person_id = b.person_id AND a.arrived < b.arrived;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Readmissions within thirty days.
SELECT COUNT(DISTINCT a.person_id) FROM visits a JOIN visits b ON a.person_id = b.person_id AND b.arrived > a.discharged AND b.arrived <= a.discharged + INTERVAL 30 DAY;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- People seen in two wards.
SELECT COUNT(DISTINCT e.person_id) FROM visits e, visits s WHERE e.person_id = s.person_id AND e.ward = 'emergency' AND s.ward = 'surgery';
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- A join with a subquery of the same person.
SELECT COUNT(*), AVG(t.total) FROM people p JOIN (SELECT person_id, SUM(cost) AS total FROM visits GROUP BY person_id) t ON t.person_id = p.person_id;
--plan> reads people, visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> sum of a subquery's c1 in steps of 0.005 from 12000000: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise
--plan> rows with a value of a subquery's c1: L1 12000000, Linf 12000000, L2² 144000000000000; SummedNoise

-- The same, keeping who never came.
SELECT p.sex, SUM(COALESCE(t.n, 0)) AS visits, COUNT(*) AS people FROM people p LEFT JOIN (SELECT person_id, COUNT(*) AS n FROM visits GROUP BY person_id) t USING (person_id) WHERE p.sex IS NOT NULL GROUP BY p.sex;
--plan> reads people, visits; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, F/M/X of sex
--plan> sum of coalesce(a subquery's c1, 0) from 6: L1 6, Linf 6, L2² 36; DiscreteGaussian
--plan> units: L1 1, Linf 1, L2² 1; DiscreteGaussian

-- A join in parentheses.
SELECT COUNT(*) FROM people p JOIN (visits v JOIN wards w ON v.ward = w.ward) ON p.person_id = v.person_id WHERE w.kind = 'surgical';
--plan> reads people, visits, wards; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Beds of the wards that were visited.
SELECT AVG(w.beds), MAX(w.floor) FROM visits v JOIN wards w USING (ward);
--plan> reads visits, wards; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> sum of beds in steps of 0.5 from 200: L1 614400, Linf 614400, L2² 377487360000; SummedNoise
--plan> rows with a value of beds: L1 614400, Linf 614400, L2² 377487360000; SummedNoise
--plan> rows on either side of a value of floor at 1 in steps of 1/1048576: L1 12582912, Linf 12582912, L2² 158329674399744; Geometric
--plan> rows between values around the picked ones: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Values of both sides in one expression.
SELECT SUM(v.cost * (1 + w.floor)) FROM visits v JOIN wards w ON v.ward = w.ward;
--plan> reads visits, wards; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> sum of multiply(cost, add(1, floor)) in steps of 0.01 scaled to L1 120000000 in parts of 1/1: L1 120000000, Linf 120000000, L2² 14400000000000000; DiscreteLaplace

-- A comparison of a person's value with the public one.
SELECT COUNT(*) FROM people p JOIN cities c ON p.city = c.city WHERE p.income * 10 > c.population;
--plan> reads people, cities; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Who came, counted from the side that may be missing.
SELECT COUNT(DISTINCT v.person_id), COUNT(DISTINCT p.person_id), COUNT(v.person_id) FROM people p LEFT JOIN visits v ON v.person_id = p.person_id;
--plan> reads people, visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> units of case(not(is_null(person_id)), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> rows with a value of person_id: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Who came for something urgent, counted from the side that may be missing.
SELECT COUNT(DISTINCT CASE WHEN v.urgent THEN v.person_id END), COUNT(DISTINCT v.person_id) FILTER (WHERE p.smoker) FROM people p LEFT JOIN visits v ON v.person_id = p.person_id;
--plan> reads people, visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> units of case(and(urgent, not(is_null(person_id))), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> units of case(and(smoker, not(is_null(person_id))), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Visits that were counted once though they have several diagnoses.
SELECT v.ward, COUNT(DISTINCT v.visit_id), COUNT(*) FROM visits v JOIN diagnoses d USING (visit_id) WHERE v.ward IS NOT NULL GROUP BY v.ward;
--but> every public key appears
--plan> reads visits, diagnoses; protects person_id, at most 36 rows in 36 groups, 36 in one
--plan> groups: public, all wards.ward of ward
--plan> distinct values of visit_id: L1 36, Linf 36, L2² 1296; DiscreteLaplace
--plan> how many distinct values of a unit count in steps of 1/1048576: L1 1048576, Linf 1048576, L2² 1099511627776; Geometric
--plan> rows scaled to L1 36 rows in parts of 1/16384: L1 589824, Linf 589824, L2² 347892350976; DiscreteLaplace
