-- Arithmetic and mathematics over the values of a person.

-- Every kind of arithmetic.
SELECT SUM(age + hours), SUM(age - hours), SUM(age * 2), SUM(-age), AVG(income / 12), SUM(age // 7), SUM(age % 7) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of add(age, hours): L1 210, Linf 210, L2² 44100; DiscreteLaplace
--plan> sum of subtract(age, hours): L1 210, Linf 210, L2² 44100; DiscreteLaplace
--plan> sum of multiply(age, 2): L1 220, Linf 220, L2² 48400; DiscreteLaplace
--plan> sum of negate(age): L1 110, Linf 110, L2² 12100; DiscreteLaplace
--plan> sum of divide(income, 12) in steps of 1/2048 from 25600000: L1 51200000, Linf 25600000, L2² 1310720000000000; SummedNoise
--plan> rows with a value of divide(income, 12): L1 51200000, Linf 25600000, L2² 1310720000000000; SummedNoise
--plan> sum of integer_divide(age, 7): L1 16, Linf 16, L2² 256; DiscreteLaplace
--plan> sum of modulo(age, 7): L1 6, Linf 6, L2² 36; DiscreteLaplace

-- Rounding in every way.
SELECT SUM(ROUND(income, -3)), SUM(FLOOR(commute)), SUM(CEIL(commute)), SUM(TRUNC(commute)), SUM(ROUND(commute, 1)) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of round(income, -3) in steps of 1000.0: L1 300, Linf 300, L2² 90000; DiscreteLaplace
--plan> sum of floor(commute): L1 240, Linf 240, L2² 57600; DiscreteLaplace
--plan> sum of ceil(commute): L1 240, Linf 240, L2² 57600; DiscreteLaplace
--plan> sum of trunc(commute): L1 240, Linf 240, L2² 57600; DiscreteLaplace
--plan> sum of round(commute, 1) in steps of 0.1: L1 2400, Linf 2400, L2² 5760000; DiscreteLaplace

-- Sizes and signs.
SELECT SUM(ABS(hours - 40)), SUM(SIGN(hours - 40)) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of abs(subtract(hours, 40)): L1 60, Linf 60, L2² 3600; DiscreteLaplace
--plan> sum of sign(subtract(hours, 40)): L1 2, Linf 2, L2² 4; DiscreteLaplace

-- Held between two ends.
SELECT AVG(LEAST(income, 100000)), AVG(GREATEST(hours, 10)) FROM persons WHERE income IS NOT NULL AND hours IS NOT NULL;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of least(income, 100000) in steps of 0.005 from 10000000: L1 20000000, Linf 10000000, L2² 200000000000000; SummedNoise
--plan> units: L1 20000000, Linf 10000000, L2² 200000000000000; SummedNoise
--plan> sum of greatest(hours, 10) from 55: L1 90, Linf 90, L2² 8100; DiscreteLaplace

-- Clamped as San asks for it.
SELECT SUM(GREATEST(0, LEAST(100, commute))) FROM persons WHERE commute IS NOT NULL;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of greatest(0, least(100, commute)) in steps of 1/262144: L1 26214400, Linf 26214400, L2² 687194767360000; DiscreteLaplace

-- Roots and powers.
SELECT AVG(SQRT(income)), AVG(POWER(hours, 2)), AVG(hours ** 2), AVG(CBRT(commute)) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of sqrt(income) in steps of 1/65536 from 17956864: L1 35913728, Linf 17956864, L2² 644897929428992; SummedNoise
--plan> rows with a value of sqrt(income): L1 35913728, Linf 17956864, L2² 644897929428992; SummedNoise
--plan> sum of power(hours, 2) in steps of 1/4096 from 20480000: L1 40960000, Linf 20480000, L2² 838860800000000; SummedNoise
--plan> rows with a value of power(hours, 2): L1 40960000, Linf 20480000, L2² 838860800000000; SummedNoise
--plan> sum of cbrt(commute) in steps of 1/8388608 from 26065355: L1 52130710, Linf 26065355, L2² 1358805462552050; SummedNoise
--plan> rows with a value of cbrt(commute): L1 52130710, Linf 26065355, L2² 1358805462552050; SummedNoise

-- Logarithms.
SELECT AVG(LN(income)), AVG(LOG10(income)), AVG(LOG2(income)), AVG(LOG(10, income)) FROM persons WHERE income >= 1;
--duckdb> SELECT AVG(LN(income)), AVG(LOG10(income)), AVG(LOG2(income)), AVG(LOG10(income)) FROM persons WHERE income >= 1
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of ln(income) in steps of 1/4194304 from 26448312: L1 52896624, Linf 26448312, L2² 1399026415298688; SummedNoise
--plan> rows with a value of ln(income): L1 52896624, Linf 26448312, L2² 1399026415298688; SummedNoise
--plan> sum of log(10, income) in steps of 1/8388608 from 22972712: L1 45945424, Linf 22972712, L2² 1055490993269888; SummedNoise
--plan> rows with a value of log(10, income): L1 45945424, Linf 22972712, L2² 1055490993269888; SummedNoise
--plan> sum of log(2, income) in steps of 1/2097152 from 19078424: L1 38156848, Linf 19078424, L2² 727972524647552; SummedNoise
--plan> rows with a value of log(2, income): L1 38156848, Linf 19078424, L2² 727972524647552; SummedNoise

-- A geometric mean.
SELECT EXP(AVG(LN(GREATEST(income, 1)))) FROM persons WHERE income IS NOT NULL;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of ln(greatest(income, 1)) in steps of 1/4194304 from 26448312: L1 52896624, Linf 26448312, L2² 1399026415298688; SummedNoise
--plan> rows with a value of ln(greatest(income, 1)): L1 52896624, Linf 26448312, L2² 1399026415298688; SummedNoise

-- Exponentials.
SELECT AVG(EXP(-commute / 60)), AVG(EXP(age / 100.0)) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of exp(divide(negate(commute), 60)) in steps of 1/67108864 from 34169003: L1 65879722, Linf 32939861, L2² 2170068885398642; SummedNoise
--plan> rows with a value of exp(divide(negate(commute), 60)): L1 65879722, Linf 32939861, L2² 2170068885398642; SummedNoise
--plan> sum of exp(divide(age, 100.0)) in steps of 1/16777216 from 33589379: L1 33624326, Linf 16812163, L2² 565297649477138; SummedNoise
--plan> rows with a value of exp(divide(age, 100.0)): L1 33624326, Linf 16812163, L2² 565297649477138; SummedNoise

-- Angles of the hour, round the clock.
SELECT AVG(SIN(2 * PI() * HOUR(interviewed) / 24)), AVG(COS(RADIANS(HOUR(interviewed) * 15))) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of sin(divide(multiply(multiply(2, pi()), part_hour(interviewed)), 24)) in steps of 1/16777216: L1 33554432, Linf 16777216, L2² 562949953421312; SummedNoise
--plan> rows with a value of sin(divide(multiply(multiply(2, pi()), part_hour(interviewed)), 24)): L1 33554432, Linf 16777216, L2² 562949953421312; SummedNoise
--plan> sum of cos(radians(multiply(part_hour(interviewed), 15))) in steps of 1/16777216: L1 33554432, Linf 16777216, L2² 562949953421312; SummedNoise
--plan> rows with a value of cos(radians(multiply(part_hour(interviewed), 15))): L1 33554432, Linf 16777216, L2² 562949953421312; SummedNoise

-- More trigonometry.
SELECT AVG(ATAN(commute / 60)), AVG(TANH(hours / 40)), AVG(DEGREES(ATAN2(hours, 40))), AVG(ASIN(LEAST(1, hours / 100))) FROM persons WHERE hours IS NOT NULL;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of atan(divide(commute, 60)) in steps of 1/33554432 from 22243529: L1 44487058, Linf 22243529, L2² 989549164747682; SummedNoise
--plan> rows with a value of atan(divide(commute, 60)): L1 44487058, Linf 22243529, L2² 989549164747682; SummedNoise
--plan> sum of tanh(divide(hours, 40)) in steps of 1/67108864 from 33105282: L1 66210564, Linf 33105282, L2² 2191919392599048; SummedNoise
--plan> rows with a value of tanh(divide(hours, 40)): L1 66210564, Linf 33105282, L2² 2191919392599048; SummedNoise
--plan> sum of degrees(atan2(hours, 40)) in steps of 1/131072: L1 47185920, Linf 23592960, L2² 1113255523123200; SummedNoise
--plan> rows with a value of degrees(atan2(hours, 40)): L1 47185920, Linf 23592960, L2² 1113255523123200; SummedNoise
--plan> sum of asin(least(1, divide(hours, 100))) in steps of 1/33554432 from 26353589: L1 52707178, Linf 26353589, L2² 1389023306361842; SummedNoise
--plan> rows with a value of asin(least(1, divide(hours, 100))): L1 52707178, Linf 26353589, L2² 1389023306361842; SummedNoise

-- A distance.
SELECT AVG(SQRT(POWER(age - 40, 2) + POWER(hours - 35, 2))) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of sqrt(add(power(subtract(age, 40), 2), power(subtract(hours, 35), 2))) in steps of 1/524288 from 25165824: L1 50331648, Linf 25165824, L2² 1266637395197952; SummedNoise
--plan> rows with a value of sqrt(add(power(subtract(age, 40), 2), power(subtract(hours, 35), 2))): L1 50331648, Linf 25165824, L2² 1266637395197952; SummedNoise

-- A score with weights.
SELECT AVG(0.3 * age + 0.7 * hours - 2.5) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of subtract(add(multiply(0.3, age), multiply(0.7, hours)), 2.5) in steps of 0.05 from 980: L1 527360, Linf 263680, L2² 139054284800; SummedNoise
--plan> rows with a value of subtract(add(multiply(0.3, age), multiply(0.7, hours)), 2.5): L1 527360, Linf 263680, L2² 139054284800; SummedNoise

-- Bits of a number.
SELECT SUM(age & 7), SUM(age | 1), SUM(XOR(age, 3)), SUM(BIT_COUNT(age)), SUM(age >> 1) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of bit_and(age, 7): L1 127, Linf 127, L2² 16129; DiscreteLaplace
--plan> sum of bit_or(age, 1): L1 127, Linf 127, L2² 16129; DiscreteLaplace
--plan> sum of bit_xor(age, 3): L1 127, Linf 127, L2² 16129; DiscreteLaplace
--plan> sum of bit_count(age): L1 64, Linf 64, L2² 4096; DiscreteLaplace
--plan> sum of shift_right(age, 1): L1 55, Linf 55, L2² 3025; DiscreteLaplace

-- Common divisors.
SELECT SUM(GCD(age, 12)), SUM(LCM(hours, 2)) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of gcd(age, 12): L1 110, Linf 110, L2² 12100; DiscreteLaplace
--plan> sum of lcm(hours, 2): L1 200, Linf 200, L2² 40000; DiscreteLaplace

-- Parity.
SELECT age % 2 = 0 AS even, COUNT(*) FROM persons WHERE age IS NOT NULL GROUP BY even;
--plan> reads persons; protects a row
--plan> groups: public, False/True of equal(modulo(age, 2), 0)
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- Casts between numbers.
SELECT SUM(CAST(commute AS INTEGER)), SUM(age::DOUBLE / 3), SUM(CAST(married AS INTEGER)), SUM(FLOOR(income)::BIGINT) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of cast_integer(commute): L1 240, Linf 240, L2² 57600; DiscreteLaplace
--plan> sum of divide(cast_real(age), 3) in steps of 1/524288: L1 19223893, Linf 19223893, L2² 369558062075449; DiscreteLaplace
--plan> sum of cast_integer(married): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> sum of cast_bigint(floor(income)): L1 300000, Linf 300000, L2² 90000000000; DiscreteLaplace

-- Casts from text.
SELECT SUM(TRY_CAST(LEFT(CAST(age AS VARCHAR), 1) AS TINYINT)) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of cast_tinyint(left(cast_text(age), 1)): L1 255, Linf 255, L2² 65025; DiscreteLaplace

-- Casts to text.
SELECT CAST(married AS VARCHAR) AS m, COUNT(*) FROM persons WHERE married IS NOT NULL GROUP BY m;
--plan> reads persons; protects a row
--plan> groups: selected privately, by cast_text(married)
--plan> units: L1 2, Linf 1, L2² 2; TruncatedGeometric

-- Casts to dates.
SELECT COUNT(*) FROM persons WHERE CAST(interviewed AS DATE) = DATE '2024-04-15' OR CAST('2024-03-01' AS DATE) > born + 40000;
--plan> reads persons; protects a row
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Division by zero is nothing.
SELECT COUNT(income / hours), COUNT(age % hours), COUNT(*) FROM persons;
--duckdb> SELECT COUNT(income / NULLIF(hours, 0)), COUNT(age % NULLIF(hours, 0)), COUNT(*) FROM persons
--plan> reads persons; protects a row
--plan> groups: one
--plan> rows with a value of divide(income, hours): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> rows with a value of modulo(age, hours): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> units: L1 0, Linf 0, L2² 0; exact

-- Safe division of BigQuery.
SELECT SUM(SAFE_DIVIDE(age, hours)) FROM persons WHERE hours >= 20;
--duckdb> SELECT SUM(age / hours) FROM persons WHERE hours >= 20
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of divide(age, hours) in steps of 1/4194304: L1 23068672, Linf 23068672, L2² 532163627843584; DiscreteLaplace

-- Conditions over numbers.
SELECT COUNT(*) FROM persons WHERE age BETWEEN 18 AND 65 AND hours NOT BETWEEN 30 AND 50 AND age NOT IN (20, 30, 40) AND income <> 0;
--plan> reads persons; protects a row
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Equal or both missing.
SELECT COUNT_IF(age IS NOT DISTINCT FROM hours), COUNT_IF(married IS DISTINCT FROM TRUE), COUNT_IF(married IS TRUE), COUNT_IF(married IS NOT FALSE) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> rows with a value of case(not_distinct_from(age, hours), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> rows with a value of case(distinct_from(married, True), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> rows with a value of case(is_true(married), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> rows with a value of case(not(is_false(married)), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Choices in every spelling.
SELECT SUM(CASE sex WHEN 'F' THEN 1 WHEN 'M' THEN 2 ELSE 0 END), SUM(IF(married, 1, 0)), SUM(COALESCE(hours, 0)), SUM(NULLIF(hours, 100)), SUM(IFNULL(age, 0)) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of case(equal(sex, 'F'), 1, equal(sex, 'M'), 2, 0): L1 2, Linf 2, L2² 4; DiscreteLaplace
--plan> sum of case(married, 1, 0): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> sum of coalesce(hours, 0): L1 100, Linf 100, L2² 10000; DiscreteLaplace
--plan> sum of nullif(hours, 100): L1 100, Linf 100, L2² 10000; DiscreteLaplace
--plan> sum of coalesce(age, 0): L1 110, Linf 110, L2² 12100; DiscreteLaplace

-- Nested choices.
SELECT CASE WHEN sex = 'F' THEN CASE WHEN age >= 60 THEN 'older woman' ELSE 'woman' END WHEN sex = 'M' THEN 'man' ELSE 'unknown' END AS who, COUNT(*) FROM persons GROUP BY who;
--plan> reads persons; protects a row
--plan> groups: public, older woman/woman/man/unknown of case(equal(sex, 'F'), case(greater_equal(age, 60), 'older woman', 'woman'), equal(sex, 'M'), 'man', 'unknown')
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- An index of two sums.
SELECT (SUM(hours) * 1.0 / SUM(age)) * 100 - 50 AS index FROM persons;
--duckdb> SELECT (SUM(hours) * 1.0 / SUM(age)) * 100 - 50 FROM persons
--plan> reads persons; protects a row
--plan> groups: one
--plan> sum of hours: L1 100, Linf 100, L2² 10000; DiscreteLaplace
--plan> sum of age: L1 110, Linf 110, L2² 12100; DiscreteLaplace

-- Numbers as keys, on a grid of thousands.
SELECT FLOOR(income / 10000) AS tens, COUNT(*) FROM persons WHERE income IS NOT NULL GROUP BY tens HAVING COUNT(*) > 0 ORDER BY tens;
--plan> reads persons; protects a row
--plan> groups: public, 31 values of floor(divide(income, 10000))
--plan> units: L1 2, Linf 1, L2² 2; DiscreteLaplace

-- Scientific numbers.
SELECT COUNT(*), SUM(income * 1e-3) FROM persons WHERE income > 2.5e4;
--plan> reads persons; protects a row
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> sum of multiply(income, 0.001) in steps of 1e-05 from 16250000: L1 27500000, Linf 27500000, L2² 756250000000000; DiscreteLaplace

-- Finite or not.
SELECT COUNT_IF(ISFINITE(commute)), COUNT_IF(ISNAN(commute)), COUNT_IF(ISINF(commute)) FROM persons;
--plan> reads persons; protects a row
--plan> groups: one
--plan> rows with a value of case(isfinite(commute), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> rows with a value of case(isnan(commute), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> rows with a value of case(isinf(commute), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
