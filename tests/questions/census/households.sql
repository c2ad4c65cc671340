-- Households with everybody in them: the unit is the household.

-- Households.
SELECT COUNT(*) FROM dwellings;
--plan> reads dwellings; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Households by region.
SELECT region_code, COUNT(*) FROM dwellings WHERE region_code IS NOT NULL GROUP BY region_code ORDER BY region_code;
--but> every public key appears
--plan> reads dwellings; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, all regions.code of region_code
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- Members by role.
SELECT role, COUNT(*), COUNT(DISTINCT household_id) FROM members WHERE role IS NOT NULL GROUP BY role ORDER BY role;
--plan> reads members; protects household_id, at most 8 rows in 4 groups, 8 in one
--plan> groups: public, head/partner/child/other of role
--plan> rows scaled to L1 8 rows in parts of 1/65536: L1 1048576, Linf 524288, L2² 549755813888; DiscreteLaplace
--plan> units: L1 8, Linf 1, L2² 8; DiscreteLaplace

-- Household sizes.
SELECT size, COUNT(*) AS households FROM (SELECT household_id, COUNT(*) AS size FROM members GROUP BY household_id) AS h GROUP BY size HAVING COUNT(*) > 0 ORDER BY size;
--plan> reads members; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, 9 values of a subquery's c1
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- The mean size.
SELECT AVG(size) FROM (SELECT household_id, COUNT(*) AS size FROM members GROUP BY household_id) AS h;
--plan> reads members; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of a subquery's c1 from 4: L1 8, Linf 8, L2² 64; DiscreteGaussian
--plan> units: L1 1, Linf 1, L2² 1; DiscreteGaussian

-- Households with children.
SELECT COUNT(DISTINCT household_id) FROM members WHERE age < 18;
--plan> reads members; protects household_id, at most 8 rows in 1 group, 8 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Households by the number of children.
SELECT children, COUNT(*) FROM (SELECT household_id, COUNT(*) FILTER (WHERE age < 18) AS children FROM members GROUP BY household_id) AS h GROUP BY children HAVING COUNT(*) > 0 ORDER BY children;
--plan> reads members; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, 9 values of a subquery's c1
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- Single parents.
SELECT COUNT(*) FROM (SELECT household_id FROM members GROUP BY household_id HAVING COUNT_IF(role = 'child') > 0 AND COUNT_IF(role = 'partner') = 0) AS h;
--plan> reads members; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Household income.
SELECT AVG(total), COUNT(*) FROM (SELECT household_id, SUM(wage) AS total FROM members GROUP BY household_id) AS h;
--plan> reads members; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of a subquery's c1 in steps of 0.005 from 160000000: L1 320000000, Linf 160000000, L2² 51200000000000000; SummedNoise
--plan> rows with a value of a subquery's c1: L1 320000000, Linf 160000000, L2² 51200000000000000; SummedNoise
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Income for a head.
SELECT AVG(per_head) FROM (SELECT household_id, SUM(wage) / COUNT(*) AS per_head FROM members GROUP BY household_id) AS h;
--plan> reads members; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of a subquery's c1 in steps of 0.03125 from 25600000: L1 51200000, Linf 25600000, L2² 1310720000000000; SummedNoise
--plan> rows with a value of a subquery's c1: L1 51200000, Linf 25600000, L2² 1310720000000000; SummedNoise

-- Poor households.
SELECT COUNT(*) FROM (SELECT household_id, SUM(wage) AS total FROM members GROUP BY household_id HAVING SUM(wage) < 30000) AS h;
--plan> reads members; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Rent by heating.
SELECT heating, AVG(rent), COUNT(rent) FROM dwellings WHERE heating IS NOT NULL GROUP BY heating;
--but> every public key appears
--plan> reads dwellings; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, gas/oil/heat pump/district of heating
--plan> sum of rent in steps of 0.005 from 500000: L1 1000000, Linf 500000, L2² 500000000000; SummedNoise
--plan> rows with a value of rent: L1 1000000, Linf 500000, L2² 500000000000; SummedNoise

-- Rooms.
SELECT rooms, COUNT(*) FROM dwellings WHERE rooms IS NOT NULL GROUP BY rooms HAVING COUNT(*) > 0 ORDER BY rooms;
--plan> reads dwellings; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, 12 values of rooms
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- Owners and tenants.
SELECT owned, COUNT(*), AVG(rooms) FROM dwellings WHERE owned IS NOT NULL GROUP BY owned;
--plan> reads dwellings; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, False/True of owned
--plan> units: L1 2, Linf 1, L2² 2; DiscreteGaussian
--plan> sum of rooms from 6: L1 12, Linf 11, L2² 121; DiscreteGaussian
--plan> rows with a value of rooms: L1 2, Linf 1, L2² 2; DiscreteGaussian

-- Persons for a room.
SELECT AVG(m.size * 1.0 / d.rooms) FROM dwellings d JOIN (SELECT household_id, COUNT(*) AS size FROM members GROUP BY household_id) AS m ON m.household_id = d.household_id;
--plan> reads dwellings, members; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of divide(multiply(a subquery's c1, 1.0), rooms) in steps of 1/4194304 from 16777216: L1 33554432, Linf 16777216, L2² 562949953421312; SummedNoise
--plan> rows with a value of divide(multiply(a subquery's c1, 1.0), rooms): L1 33554432, Linf 16777216, L2² 562949953421312; SummedNoise

-- Overcrowded dwellings.
SELECT COUNT(*) FROM dwellings d JOIN (SELECT household_id, COUNT(*) AS size FROM members GROUP BY household_id) AS m USING (household_id) WHERE m.size > d.rooms;
--plan> reads dwellings, members; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Rent against income.
SELECT AVG(burden) FROM (SELECT d.rent * 12 / NULLIF(i.total, 0) AS burden FROM dwellings d JOIN (SELECT household_id, SUM(wage) AS total FROM members GROUP BY household_id) AS i ON i.household_id = d.household_id) AS b WHERE burden BETWEEN 0 AND 1;
--plan> reads dwellings, members; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of a subquery's c0 in steps of 1/33554432 from 16777216: L1 33554432, Linf 16777216, L2² 562949953421312; SummedNoise
--plan> units: L1 33554432, Linf 16777216, L2² 562949953421312; SummedNoise

-- Members by the heating of their dwelling.
SELECT d.heating, COUNT(*) FROM members m JOIN dwellings d ON d.household_id = m.household_id WHERE d.heating IS NOT NULL GROUP BY d.heating;
--but> every public key appears
--plan> reads members, dwellings; protects household_id, at most 8 rows in 4 groups, 8 in one
--plan> groups: public, gas/oil/heat pump/district of heating
--plan> rows scaled to L1 8 rows in parts of 1/65536: L1 1048576, Linf 524288, L2² 549755813888; DiscreteLaplace

-- Members by country of the dwelling.
SELECT r.country, COUNT(*), COUNT(DISTINCT m.household_id) FROM members m JOIN dwellings d USING (household_id) JOIN regions r ON r.code = d.region_code WHERE r.country IS NOT NULL GROUP BY r.country;
--plan> reads members, dwellings, regions; protects household_id, at most 8 rows in 8 groups, 8 in one
--plan> groups: public, those in regions of country
--plan> rows scaled to L1 8 rows in parts of 1/65536: L1 1048576, Linf 524288, L2² 549755813888; DiscreteLaplace
--plan> units: L1 16, Linf 1, L2² 16; DiscreteLaplace

-- Couples by age difference.
SELECT AVG(ABS(a.age - b.age)) FROM members a JOIN members b ON a.household_id = b.household_id WHERE a.role = 'head' AND b.role = 'partner';
--plan> reads members; protects household_id, at most 8 rows in 1 group, 8 in one
--plan> groups: one
--plan> sum of abs(subtract(age, age)) in steps of 0.5 from 110: L1 901120, Linf 450560, L2² 406008627200; SummedNoise
--plan> rows with a value of abs(subtract(age, age)): L1 901120, Linf 450560, L2² 406008627200; SummedNoise

-- The age of the oldest member.
SELECT oldest >= 65 AS old, COUNT(*) FROM (SELECT household_id, MAX(age) AS oldest FROM members GROUP BY household_id) AS h WHERE oldest IS NOT NULL GROUP BY old;
--plan> reads members; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, False/True of greater_equal(a subquery's c1, 65)
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- Three generations.
SELECT COUNT(*) FROM (SELECT household_id, MIN(age) AS youngest, MAX(age) AS oldest FROM members GROUP BY household_id) AS h WHERE oldest - youngest > 55;
--plan> reads members; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Households where somebody earns.
SELECT COUNT(*) FROM dwellings d WHERE EXISTS (SELECT 1 FROM members m WHERE m.household_id = d.household_id AND m.wage > 0);
--plan> reads dwellings, members; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Households where nobody earns.
SELECT COUNT(*) FROM dwellings WHERE household_id NOT IN (SELECT household_id FROM members WHERE wage > 0);
--plan> reads dwellings, members; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- The first to move in.
SELECT role, COUNT(*) FROM (SELECT role, ROW_NUMBER() OVER (PARTITION BY household_id ORDER BY moved_in, age) AS place FROM members WHERE moved_in IS NOT NULL AND age IS NOT NULL) AS t WHERE place = 1 AND role IS NOT NULL GROUP BY role;
--plan> reads members; protects household_id, at most 8 rows in 4 groups, 8 in one
--plan> groups: public, head/partner/child/other of role
--plan> rows scaled to L1 8 rows in parts of 1/65536: L1 1048576, Linf 524288, L2² 549755813888; DiscreteLaplace

-- Members who earn more than the household's mean.
SELECT COUNT(*) FROM members m WHERE wage > (SELECT AVG(n.wage) FROM members n WHERE n.household_id = m.household_id);
--plan> reads members; protects household_id, at most 8 rows in 1 group, 8 in one
--plan> groups: one
--plan> rows: L1 8, Linf 8, L2² 64; DiscreteLaplace

-- The share of a member in the household's income.
SELECT COUNT(*) FROM (SELECT wage, SUM(wage) OVER (PARTITION BY household_id) AS total FROM members) AS t WHERE wage >= total / 2 AND total > 0;
--duckdb> SELECT COUNT(*) FROM (SELECT wage, SUM(wage::DOUBLE) OVER (PARTITION BY household_id) AS total FROM members) AS t WHERE wage >= total / 2 AND total > 0
--plan> reads members; protects household_id, at most 8 rows in 1 group, 8 in one
--plan> groups: one
--plan> rows: L1 8, Linf 8, L2² 64; DiscreteLaplace

-- Decades of building.
SELECT built // 10 * 10 AS decade, COUNT(*) FROM dwellings WHERE built IS NOT NULL GROUP BY decade HAVING COUNT(*) > 0 ORDER BY decade;
--plan> reads dwellings; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, 24 values of multiply(integer_divide(built, 10), 10)
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- Dwellings that are old, as a word.
SELECT IF(built < 1960, 'old', 'new') AS age, AVG(rent) FROM dwellings WHERE built IS NOT NULL GROUP BY age;
--plan> reads dwellings; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, old/new of case(less(built, 1960), 'old', 'new')
--plan> sum of rent in steps of 0.005 from 500000: L1 1000000, Linf 500000, L2² 500000000000; SummedNoise
--plan> rows with a value of rent: L1 1000000, Linf 500000, L2² 500000000000; SummedNoise

-- All kinds of people of a household, in one list.
SELECT kind, COUNT(*) FROM (SELECT household_id, 'earner' AS kind FROM members WHERE wage > 0 UNION ALL SELECT household_id, 'child' FROM members WHERE role = 'child') AS k GROUP BY kind;
--plan> reads members; protects household_id, at most 16 rows in 16 groups, 16 in one
--plan> groups: selected privately, by a subquery's c1
--plan> rows scaled to L1 16 rows in parts of 1/32768: L1 1048576, Linf 524288, L2² 549755813888; DiscreteLaplace
--plan> units: L1 32, Linf 1, L2² 32; TruncatedGeometric

-- Schools of children.
SELECT LOWER(school) AS school, COUNT(*) FROM members WHERE school IS NOT NULL GROUP BY 1;
--plan> reads members; protects household_id, at most 8 rows in 8 groups, 8 in one
--plan> groups: selected privately, by lower(school)
--plan> rows scaled to L2² 22 rows in parts of 1/131072: L1 755914244096, Linf 614782, L2² 755914244096; DiscreteGaussian
--plan> units weighted by their groups in steps of 1/1024: L1 5794, Linf 1024, L2² 2097152; DiscreteGaussian

-- Years in the dwelling.
SELECT AVG(DATE_DIFF('year', moved_in, DATE '2024-12-31')) FROM members;
--plan> reads members; protects household_id, at most 8 rows in 1 group, 8 in one
--plan> groups: one
--plan> sum of diff_year(moved_in, datetime.date(2024, 12, 31)) in steps of 0.5 from 74: L1 606208, Linf 303104, L2² 183744069632; SummedNoise
--plan> rows with a value of diff_year(moved_in, datetime.date(2024, 12, 31)): L1 606208, Linf 303104, L2² 183744069632; SummedNoise

-- The spread of rents by region.
SELECT region_code, STDDEV_POP(rent) FROM dwellings WHERE region_code IS NOT NULL GROUP BY region_code;
--but> every public key appears
--plan> reads dwellings; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, all regions.code of region_code
--plan> sum of rent in steps of 0.005 from 500000: L1 1000000, Linf 500000, L2² 500000000000; SummedNoise
--plan> sum of power(subtract(rent, 2500.0), 2) in steps of 0.25 from 12500000: L1 25000000, Linf 25000000, L2² 625000000000000; DiscreteLaplace
--plan> rows with a value of rent: L1 1000000, Linf 500000, L2² 500000000000; SummedNoise

-- Rents by the tens of square roots.
SELECT SUM(SQRT(rent)), AVG(LN(rent + 1)) FROM dwellings;
--plan> reads dwellings; protects household_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of sqrt(rent) in steps of 1/262144: L1 18612224, Linf 18612224, L2² 346414882226176; DiscreteLaplace
--plan> sum of ln(add(rent, 1)) in steps of 1/4194304 from 17862268: L1 35724536, Linf 17862268, L2² 638121236207648; SummedNoise
--plan> rows with a value of ln(add(rent, 1)): L1 35724536, Linf 17862268, L2² 638121236207648; SummedNoise
