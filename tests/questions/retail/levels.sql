-- Subtotals and totals over orders and what is in them.

-- Orders by channel and month.
SELECT channel, MONTH(ordered) AS month, COUNT(*) AS orders, SUM(shipping) AS shipping FROM orders WHERE channel IS NOT NULL AND ordered IS NOT NULL GROUP BY ROLLUP (channel, month);
--but> every public key appears
--plan> (channel, month) reads orders; protects customer_id, at most 10 rows in 10 groups, 10 in one
--plan> (channel, month) groups: public, 12 values of part_month(ordered) × web/shop/phone of channel
--plan> (channel, month) rows scaled to L1 10 rows in parts of 1/65536: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace
--plan> (channel, month) sum of shipping in steps of 0.01 scaled to L1 10 rows in parts of 1/8: L1 400000, Linf 400000, L2² 160000000000; DiscreteLaplace
--plan> (channel) reads orders; protects customer_id, at most 10 rows in 3 groups, 10 in one
--plan> (channel) groups: public, web/shop/phone of channel; rows have one of 12 values of part_month(ordered)
--plan> (channel) rows scaled to L1 10 rows in parts of 1/65536: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace
--plan> (channel) sum of shipping in steps of 0.01 scaled to L1 10 rows in parts of 1/8: L1 400000, Linf 400000, L2² 160000000000; DiscreteLaplace
--plan> () reads orders; protects customer_id, at most 10 rows in 1 group, 10 in one
--plan> () groups: one; rows have one of 12 values of part_month(ordered); rows have one of web/shop/phone of channel
--plan> () rows: L1 10, Linf 10, L2² 100; DiscreteLaplace
--plan> () sum of shipping in steps of 0.01: L1 50000, Linf 50000, L2² 2500000000; DiscreteLaplace

-- Channels and segments: a cube over a join.
SELECT o.channel, c.segment, COUNT(*) AS orders, COUNT(DISTINCT o.customer_id) AS customers FROM orders o JOIN customers c ON o.customer_id = c.customer_id WHERE o.channel IS NOT NULL AND c.segment IS NOT NULL GROUP BY CUBE (o.channel, c.segment);
--plan> (channel, segment) reads orders, customers; protects customer_id, at most 10 rows in 9 groups, 10 in one
--plan> (channel, segment) groups: public, web/shop/phone of channel × consumer/corporate/home office of segment
--plan> (channel, segment) rows scaled to L1 10 rows in parts of 1/65536: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace
--plan> (channel, segment) units: L1 9, Linf 1, L2² 9; DiscreteLaplace
--plan> (channel) reads orders, customers; protects customer_id, at most 10 rows in 3 groups, 10 in one
--plan> (channel) groups: public, web/shop/phone of channel; rows have one of consumer/corporate/home office of segment
--plan> (channel) rows scaled to L1 10 rows in parts of 1/65536: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace
--plan> (channel) units: L1 3, Linf 1, L2² 3; DiscreteLaplace
--plan> (segment) reads orders, customers; protects customer_id, at most 10 rows in 3 groups, 10 in one
--plan> (segment) groups: public, consumer/corporate/home office of segment; rows have one of web/shop/phone of channel
--plan> (segment) rows scaled to L1 10 rows in parts of 1/65536: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace
--plan> (segment) units: L1 3, Linf 1, L2² 3; DiscreteLaplace
--plan> () reads orders, customers; protects customer_id, at most 10 rows in 1 group, 10 in one
--plan> () groups: one; rows have one of web/shop/phone of channel; rows have one of consumer/corporate/home office of segment
--plan> () rows: L1 10, Linf 10, L2² 100; DiscreteLaplace
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Categories and brands are in a public table, and not every pair is.
SELECT p.category, p.brand, COUNT(*) AS lines, SUM(i.quantity) AS pieces FROM items i JOIN products p ON i.sku = p.sku WHERE p.category IS NOT NULL AND p.brand IS NOT NULL GROUP BY CUBE (p.category, p.brand);
--plan> (category, brand) reads items, products; protects customer_id, at most 40 rows in 40 groups, 40 in one
--plan> (category, brand) groups: public, those in products of brand × those in products of category
--plan> (category, brand) rows scaled to L1 40 rows in parts of 1/16384: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace
--plan> (category, brand) sum of quantity scaled to L1 40 rows in parts of 1/1024: L1 409600, Linf 409600, L2² 167772160000; DiscreteLaplace
--plan> (brand) reads items, products; protects customer_id, at most 40 rows in 40 groups, 40 in one
--plan> (brand) groups: public, those in products of brand; rows have one of those in products of category
--plan> (brand) rows scaled to L1 40 rows in parts of 1/16384: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace
--plan> (brand) sum of quantity scaled to L1 40 rows in parts of 1/1024: L1 409600, Linf 409600, L2² 167772160000; DiscreteLaplace
--plan> (category) reads items, products; protects customer_id, at most 40 rows in 40 groups, 40 in one
--plan> (category) groups: public, those in products of category; rows have one of those in products of brand
--plan> (category) rows scaled to L1 40 rows in parts of 1/16384: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace
--plan> (category) sum of quantity scaled to L1 40 rows in parts of 1/1024: L1 409600, Linf 409600, L2² 167772160000; DiscreteLaplace
--plan> () reads items, products; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> () groups: one; rows have one of those in products of brand; rows have one of those in products of category
--plan> () rows: L1 40, Linf 40, L2² 1600; DiscreteLaplace
--plan> () sum of quantity: L1 400, Linf 400, L2² 160000; DiscreteLaplace

-- Regions of stores, by themselves and with the channel.
SELECT s.region, o.channel, COUNT(*) AS orders FROM orders o JOIN stores s ON o.store = s.store WHERE s.region IS NOT NULL AND o.channel IS NOT NULL GROUP BY GROUPING SETS ((s.region, o.channel), (s.region));
--plan> (region, channel) reads orders, stores; protects customer_id, at most 10 rows in 10 groups, 10 in one
--plan> (region, channel) groups: public, web/shop/phone of channel × those in stores of region
--plan> (region, channel) rows scaled to L1 10 rows in parts of 1/65536: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace
--plan> (region) reads orders, stores; protects customer_id, at most 10 rows in 10 groups, 10 in one
--plan> (region) groups: public, those in stores of region; rows have one of web/shop/phone of channel
--plan> (region) rows scaled to L1 10 rows in parts of 1/65536: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace

-- Countries are not public, segments are.
SELECT country, segment, COUNT(*) AS customers FROM customers WHERE segment IS NOT NULL GROUP BY GROUPING SETS ((country), (segment), ());
--plan> (country) reads customers; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> (country) groups: selected privately, by country
--plan> (country) units: L1 1, Linf 1, L2² 1; TruncatedGeometric
--plan> (segment) reads customers; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> (segment) groups: public, consumer/corporate/home office of segment
--plan> (segment) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> () reads customers; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> () groups: one; rows have one of consumer/corporate/home office of segment
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Numbers about customers, then levels of these.
SELECT big, news, COUNT(*) FROM (SELECT c.customer_id, c.newsletter AS news, COUNT(*) > 2 AS big FROM customers c JOIN orders o ON o.customer_id = c.customer_id WHERE c.newsletter IS NOT NULL GROUP BY c.customer_id, c.newsletter) AS t GROUP BY CUBE (big, news);
--plan> (big, news) reads customers, orders; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> (big, news) groups: public, False/True of newsletter × False/True of a subquery's c2
--plan> (big, news) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> (news) reads customers, orders; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> (news) groups: public, False/True of newsletter
--plan> (news) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> (big) reads customers, orders; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> (big) groups: public, False/True of a subquery's c2; rows have one of False/True of newsletter
--plan> (big) units: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> () reads customers, orders; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> () groups: one; rows have one of False/True of newsletter
--plan> () units: L1 1, Linf 1, L2² 1; DiscreteLaplace
