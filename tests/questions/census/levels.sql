-- Tables as an office publishes them: margins and grand totals. A row is protected by itself.

-- Sex by education, with margins.
SELECT sex, education, COUNT(*) AS persons FROM persons WHERE sex IS NOT NULL AND education IS NOT NULL GROUP BY CUBE (sex, education);
--plan> (sex, education) reads persons; protects a row
--plan> (sex, education) groups: public, none/school/college/university of education × F/M of sex
--plan> (sex, education) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> (education) reads persons; protects a row
--plan> (education) groups: public, none/school/college/university of education; rows have one of F/M of sex
--plan> (education) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> (sex) reads persons; protects a row
--plan> (sex) groups: public, F/M of sex; rows have one of none/school/college/university of education
--plan> (sex) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> () reads persons; protects a row
--plan> () groups: one; rows have one of none/school/college/university of education; rows have one of F/M of sex
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Income by age band and sex.
SELECT age // 20 * 20 AS band, sex, COUNT(*) AS persons, AVG(income) AS income FROM persons WHERE sex IS NOT NULL AND age IS NOT NULL GROUP BY ROLLUP (band, sex);
--but> every public key appears
--plan> (band, sex) reads persons; protects a row
--plan> (band, sex) groups: public, 7 values of multiply(integer_divide(age, 20), 20) × F/M of sex
--plan> (band, sex) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> (band, sex) sum of income in steps of 0.005 from 30000000: L1 60000000, Linf 30000000, L2² 1800000000000000; SummedNoise
--plan> (band, sex) rows with a value of income: L1 60000000, Linf 30000000, L2² 1800000000000000; SummedNoise
--plan> (band) reads persons; protects a row
--plan> (band) groups: public, 7 values of multiply(integer_divide(age, 20), 20); rows have one of F/M of sex
--plan> (band) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> (band) sum of income in steps of 0.005 from 30000000: L1 60000000, Linf 30000000, L2² 1800000000000000; SummedNoise
--plan> (band) rows with a value of income: L1 60000000, Linf 30000000, L2² 1800000000000000; SummedNoise
--plan> () reads persons; protects a row
--plan> () groups: one; rows have one of 7 values of multiply(integer_divide(age, 20), 20); rows have one of F/M of sex
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> () sum of income in steps of 0.005 from 30000000: L1 60000000, Linf 30000000, L2² 1800000000000000; SummedNoise
--plan> () rows with a value of income: L1 60000000, Linf 30000000, L2² 1800000000000000; SummedNoise

-- Three keys, seven margins and the total.
SELECT sex, education, married, COUNT(*) AS n, SUM(hours) AS hours FROM persons WHERE sex IS NOT NULL AND education IS NOT NULL AND married IS NOT NULL GROUP BY CUBE (sex, education, married);
--plan> (sex, education, married) reads persons; protects a row
--plan> (sex, education, married) groups: public, none/school/college/university of education × False/True of married × F/M of sex
--plan> (sex, education, married) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> (sex, education, married) sum of hours: L1 200, Linf 100, L2² 20000; DiscreteLaplace
--plan> (education, married) reads persons; protects a row
--plan> (education, married) groups: public, none/school/college/university of education × False/True of married; rows have one of F/M of sex
--plan> (education, married) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> (education, married) sum of hours: L1 200, Linf 100, L2² 20000; DiscreteLaplace
--plan> (sex, education) reads persons; protects a row
--plan> (sex, education) groups: public, none/school/college/university of education × F/M of sex; rows have one of False/True of married
--plan> (sex, education) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> (sex, education) sum of hours: L1 200, Linf 100, L2² 20000; DiscreteLaplace
--plan> (sex, married) reads persons; protects a row
--plan> (sex, married) groups: public, False/True of married × F/M of sex; rows have one of none/school/college/university of education
--plan> (sex, married) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> (sex, married) sum of hours: L1 200, Linf 100, L2² 20000; DiscreteLaplace
--plan> (education) reads persons; protects a row
--plan> (education) groups: public, none/school/college/university of education; rows have one of False/True of married; rows have one of F/M of sex
--plan> (education) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> (education) sum of hours: L1 200, Linf 100, L2² 20000; DiscreteLaplace
--plan> (married) reads persons; protects a row
--plan> (married) groups: public, False/True of married; rows have one of none/school/college/university of education; rows have one of F/M of sex
--plan> (married) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> (married) sum of hours: L1 200, Linf 100, L2² 20000; DiscreteLaplace
--plan> (sex) reads persons; protects a row
--plan> (sex) groups: public, F/M of sex; rows have one of none/school/college/university of education; rows have one of False/True of married
--plan> (sex) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> (sex) sum of hours: L1 200, Linf 100, L2² 20000; DiscreteLaplace
--plan> () reads persons; protects a row
--plan> () groups: one; rows have one of none/school/college/university of education; rows have one of False/True of married; rows have one of F/M of sex
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> () sum of hours: L1 100, Linf 100, L2² 10000; DiscreteLaplace

-- Countries and their regions.
SELECT r.country, r.region, COUNT(*) AS persons FROM persons p JOIN regions r ON p.region_code = r.code WHERE r.country IS NOT NULL AND r.region IS NOT NULL GROUP BY ROLLUP (r.country, r.region);
--plan> (country, region) reads persons, regions; protects a row
--plan> (country, region) groups: public, those in regions of country × those in regions of region
--plan> (country, region) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> (country) reads persons, regions; protects a row
--plan> (country) groups: public, those in regions of country; rows have one of those in regions of region
--plan> (country) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> () reads persons, regions; protects a row
--plan> () groups: one; rows have one of those in regions of country; rows have one of those in regions of region
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Two-way tables that share a key.
SELECT sex, education, married, COUNT(*) AS n FROM persons WHERE sex IS NOT NULL AND education IS NOT NULL AND married IS NOT NULL GROUP BY GROUPING SETS ((sex, education), (education, married), ());
--plan> (education, married) reads persons; protects a row
--plan> (education, married) groups: public, none/school/college/university of education × False/True of married; rows have one of F/M of sex
--plan> (education, married) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> (sex, education) reads persons; protects a row
--plan> (sex, education) groups: public, none/school/college/university of education × F/M of sex; rows have one of False/True of married
--plan> (sex, education) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> () reads persons; protects a row
--plan> () groups: one; rows have one of none/school/college/university of education; rows have one of False/True of married; rows have one of F/M of sex
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Occupations are selected, sexes are public.
SELECT occupation, sex, COUNT(*) AS n FROM persons WHERE sex IS NOT NULL GROUP BY ROLLUP (sex, occupation);
--plan> (sex, occupation) reads persons; protects a row
--plan> (sex, occupation) groups: selected privately, by occupation, sex
--plan> (sex, occupation) units: L1 2, Linf 1, L2² 2; TruncatedGeometric
--plan> (sex) reads persons; protects a row
--plan> (sex) groups: public, F/M of sex
--plan> (sex) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> () reads persons; protects a row
--plan> () groups: one; rows have one of F/M of sex
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Rooms of dwellings: the margins are rounded sums of decimals.
SELECT heating, owned, COUNT(*) AS dwellings, AVG(rent) AS rent FROM dwellings WHERE heating IS NOT NULL AND owned IS NOT NULL GROUP BY CUBE (heating, owned);
--but> every public key appears
--plan> (heating, owned) reads dwellings; protects household_id, at most 1 row in 1 group, 1 in one
--plan> (heating, owned) groups: public, gas/oil/heat pump/district of heating × False/True of owned
--plan> (heating, owned) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> (heating, owned) sum of rent in steps of 0.005 from 500000: L1 1000000, Linf 500000, L2² 500000000000; SummedNoise
--plan> (heating, owned) rows with a value of rent: L1 1000000, Linf 500000, L2² 500000000000; SummedNoise
--plan> (heating) reads dwellings; protects household_id, at most 1 row in 1 group, 1 in one
--plan> (heating) groups: public, gas/oil/heat pump/district of heating; rows have one of False/True of owned
--plan> (heating) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> (heating) sum of rent in steps of 0.005 from 500000: L1 1000000, Linf 500000, L2² 500000000000; SummedNoise
--plan> (heating) rows with a value of rent: L1 1000000, Linf 500000, L2² 500000000000; SummedNoise
--plan> (owned) reads dwellings; protects household_id, at most 1 row in 1 group, 1 in one
--plan> (owned) groups: public, False/True of owned; rows have one of gas/oil/heat pump/district of heating
--plan> (owned) units: L1 2, Linf 1, L2² 2; DiscreteLaplace
--plan> (owned) sum of rent in steps of 0.005 from 500000: L1 1000000, Linf 500000, L2² 500000000000; SummedNoise
--plan> (owned) rows with a value of rent: L1 1000000, Linf 500000, L2² 500000000000; SummedNoise
--plan> () reads dwellings; protects household_id, at most 1 row in 1 group, 1 in one
--plan> () groups: one; rows have one of gas/oil/heat pump/district of heating; rows have one of False/True of owned
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> () sum of rent in steps of 0.005 from 500000: L1 1000000, Linf 500000, L2² 500000000000; SummedNoise
--plan> () rows with a value of rent: L1 1000000, Linf 500000, L2² 500000000000; SummedNoise
