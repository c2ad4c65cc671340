-- What a shop asks: revenue, baskets, customers, products.

-- Orders.
SELECT COUNT(*) FROM orders;
--plan> reads orders; protects customer_id, at most 10 rows in 1 group, 10 in one
--plan> groups: one
--plan> rows: L1 10, Linf 10, L2² 100; DiscreteLaplace

-- Customers who ordered.
SELECT COUNT(DISTINCT customer_id) FROM orders;
--plan> reads orders; protects customer_id, at most 10 rows in 1 group, 10 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Customers by segment.
SELECT segment, COUNT(*) AS customers, AVG(age) FROM customers WHERE segment IS NOT NULL GROUP BY segment ORDER BY customers DESC, segment;
--plan> reads customers; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, consumer/corporate/home office of segment
--plan> units: L1 1, Linf 1, L2² 1; DiscreteGaussian
--plan> sum of age from 54: L1 36, Linf 36, L2² 1296; DiscreteGaussian
--plan> rows with a value of age: L1 1, Linf 1, L2² 1; DiscreteGaussian

-- Customers by country, in any case.
SELECT UPPER(country) AS country, COUNT(*) FROM customers WHERE country IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1;
--plan> reads customers; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by upper(country)
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- Revenue.
SELECT SUM(quantity * price) FROM items;
--plan> reads items; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> groups: one
--plan> sum of multiply(quantity, price) in steps of 0.01 scaled to L1 20000000 in parts of 1/1: L1 20000000, Linf 20000000, L2² 400000000000000; DiscreteLaplace

-- Revenue after the discount.
SELECT SUM(quantity * price * (1 - discount)) FROM items;
--plan> reads items; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> groups: one
--plan> sum of multiply(multiply(quantity, price), subtract(1, discount)) in steps of 1/4096 scaled to L1 819200000 in parts of 1/1: L1 819200000, Linf 819200000, L2² 671088640000000000; DiscreteLaplace

-- Revenue after the discount, none where it is missing.
SELECT SUM(quantity * price * (1 - COALESCE(discount, 0))) AS net FROM items;
--plan> reads items; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> groups: one
--plan> sum of multiply(multiply(quantity, price), subtract(1, coalesce(discount, 0))) in steps of 1/4096 scaled to L1 819200000 in parts of 1/1: L1 819200000, Linf 819200000, L2² 671088640000000000; DiscreteLaplace

-- Revenue by category, TPC-H's way.
SELECT p.category, SUM(i.quantity * i.price * (1 - i.discount)) AS revenue, COUNT(*) AS n FROM items i, products p WHERE i.sku = p.sku GROUP BY p.category ORDER BY revenue DESC;
--plan> reads items, products; protects customer_id, at most 40 rows in 40 groups, 40 in one
--plan> groups: public, those in products of category
--plan> sum of multiply(multiply(quantity, price), subtract(1, discount)) in steps of 1/4096 scaled to L1 40 rows in parts of 1/1: L1 819200000, Linf 819200000, L2² 671088640000000000; DiscreteLaplace
--plan> rows scaled to L1 40 rows in parts of 1/16384: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace

-- Revenue by brand.
SELECT brand, SUM(price * quantity) AS revenue FROM items JOIN products USING (sku) WHERE brand IS NOT NULL GROUP BY brand ORDER BY brand;
--plan> reads items, products; protects customer_id, at most 40 rows in 40 groups, 40 in one
--plan> groups: public, those in products of brand
--plan> sum of multiply(price, quantity) in steps of 0.01 scaled to L1 20000000 in parts of 1/1: L1 20000000, Linf 20000000, L2² 400000000000000; DiscreteLaplace

-- Items by product, those never sold too.
SELECT p.sku, COUNT(i.quantity) AS sold FROM products p LEFT JOIN items i ON i.sku = p.sku GROUP BY p.sku ORDER BY sold DESC, p.sku;
--plan> reads products, items; protects customer_id, at most 40 rows in 40 groups, 40 in one
--plan> groups: public, those in products of sku
--plan> rows with a value of quantity scaled to L1 40 rows in parts of 1/16384: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace

-- Best sellers by pieces.
SELECT sku, SUM(quantity) AS pieces FROM items JOIN products USING (sku) GROUP BY sku ORDER BY pieces DESC LIMIT 3;
--plan> reads items, products; protects customer_id, at most 40 rows in 40 groups, 40 in one
--plan> groups: public, those in products of sku
--plan> sum of quantity scaled to L1 400 in parts of 1/1024: L1 409600, Linf 409600, L2² 167772160000; DiscreteLaplace

-- Products selected privately.
SELECT sku, COUNT(*) FROM items WHERE sku IS NOT NULL GROUP BY sku;
--plan> reads items; protects customer_id, at most 40 rows in 40 groups, 40 in one
--plan> groups: selected privately, by sku
--plan> rows scaled to L1 40 rows in parts of 1/16384: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace
--plan> units: L1 40, Linf 1, L2² 40; TruncatedGeometric

-- Orders by channel and month of 2024.
SELECT channel, DATE_TRUNC('month', ordered) AS month, COUNT(*) FROM orders WHERE channel IS NOT NULL AND ordered >= DATE '2024-01-01' GROUP BY channel, month HAVING COUNT(*) > 0 ORDER BY channel, month;
--plan> reads orders; protects customer_id, at most 10 rows in 10 groups, 10 in one
--plan> groups: public, web/shop/phone of channel × 12 values of trunc_month(ordered)
--plan> rows scaled to L1 10 rows in parts of 1/65536: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace

-- Revenue by region of the store, along two foreign keys.
SELECT s.region, SUM(i.quantity * i.price) AS revenue FROM items i JOIN orders o ON i.order_id = o.order_id JOIN stores s ON o.store = s.store GROUP BY s.region;
--plan> reads items, orders, stores; protects customer_id, at most 40 rows in 40 groups, 40 in one
--plan> groups: public, those in stores of region
--plan> sum of multiply(quantity, price) in steps of 0.01 scaled to L1 20000000 in parts of 1/1: L1 20000000, Linf 20000000, L2² 400000000000000; DiscreteLaplace

-- Revenue by segment, along three tables.
SELECT c.segment, SUM(i.price * i.quantity) FROM customers c JOIN orders o ON o.customer_id = c.customer_id JOIN items i ON i.order_id = o.order_id WHERE c.segment IS NOT NULL GROUP BY c.segment;
--plan> reads customers, orders, items; protects customer_id, at most 40 rows in 3 groups, 40 in one
--plan> groups: public, consumer/corporate/home office of segment
--plan> sum of multiply(price, quantity) in steps of 0.01 scaled to L1 20000000 in parts of 1/1: L1 20000000, Linf 20000000, L2² 400000000000000; DiscreteLaplace

-- The same along USING.
SELECT segment, COUNT(*) FROM customers JOIN orders USING (customer_id) JOIN items USING (order_id) WHERE segment IS NOT NULL GROUP BY segment;
--plan> reads customers, orders, items; protects customer_id, at most 40 rows in 3 groups, 40 in one
--plan> groups: public, consumer/corporate/home office of segment
--plan> rows scaled to L1 40 rows in parts of 1/16384: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace

-- Five tables.
SELECT p.category, s.region, COUNT(*) AS n FROM customers c JOIN orders o USING (customer_id) JOIN items i USING (order_id) JOIN products p USING (sku) JOIN stores s USING (store) GROUP BY 1, 2 ORDER BY 1, 2;
--plan> reads customers, orders, items, products, stores; protects customer_id, at most 40 rows in 40 groups, 40 in one
--plan> groups: public, those in products of category × those in stores of region
--plan> rows scaled to L1 40 rows in parts of 1/16384: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace

-- The return rate by category.
SELECT category, AVG(CASE WHEN returned THEN 1.0 ELSE 0 END) AS rate FROM items JOIN products USING (sku) GROUP BY category;
--plan> reads items, products; protects customer_id, at most 40 rows in 40 groups, 40 in one
--plan> groups: public, those in products of category
--plan> sum of case(returned, 1.0, 0) in steps of 0.5 from 1 scaled to L1 40 rows in parts of 1/16384: L1 655360, Linf 655360, L2² 429496729600; SummedNoise
--plan> rows scaled to L1 40 rows in parts of 1/16384: L1 655360, Linf 655360, L2² 429496729600; SummedNoise

-- The return rate as a ratio.
SELECT COUNT_IF(returned) * 1.0 / COUNT(returned) FROM items;
--plan> reads items; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> groups: one
--plan> rows with a value of case(returned, 1, None): L1 40, Linf 40, L2² 1600; DiscreteLaplace
--plan> rows with a value of returned: L1 40, Linf 40, L2² 1600; DiscreteLaplace

-- Discounts against quantities.
SELECT CORR(discount, quantity), COVAR_POP(discount, price) FROM items;
--plan> reads items; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> groups: one
--plan> sum of case(not(is_null(quantity)), discount, None) in steps of 1/33554432 from 8388608: L1 335544320, Linf 335544320, L2² 112589990684262400; DiscreteLaplace
--plan> sum of case(not(is_null(discount)), quantity, None) from 5: L1 200, Linf 200, L2² 40000; DiscreteLaplace
--plan> sum of multiply(subtract(case(not(is_null(quantity)), discount, None), 0.25), subtract(case(not(is_null(discount)), quantity, None), 5.0)) in steps of 1/8388608: L1 419430400, Linf 419430400, L2² 175921860444160000; DiscreteLaplace
--plan> rows with a value of case(not(is_null(quantity)), discount, None): L1 40, Linf 40, L2² 1600; DiscreteLaplace
--plan> sum of power(subtract(case(not(is_null(quantity)), discount, None), 0.25), 2) in steps of 1/268435456 from 8388608: L1 335544320, Linf 335544320, L2² 112589990684262400; DiscreteLaplace
--plan> sum of power(subtract(case(not(is_null(discount)), quantity, None), 5.0), 2) from 12: L1 520, Linf 520, L2² 270400; DiscreteLaplace
--plan> sum of case(not(is_null(price)), discount, None) in steps of 1/33554432 from 8388608: L1 335544320, Linf 335544320, L2² 112589990684262400; DiscreteLaplace
--plan> sum of case(not(is_null(discount)), price, None) in steps of 0.01 from 25000: L1 1000000, Linf 1000000, L2² 1000000000000; DiscreteLaplace
--plan> sum of multiply(subtract(case(not(is_null(price)), discount, None), 0.25), subtract(case(not(is_null(discount)), price, None), 250.0)) in steps of 1/262144: L1 655360000, Linf 655360000, L2² 429496729600000000; DiscreteLaplace
--plan> rows with a value of case(not(is_null(price)), discount, None): L1 40, Linf 40, L2² 1600; DiscreteLaplace

-- The spread of prices by category.
SELECT category, STDDEV_POP(price), AVG(price) FROM items JOIN products USING (sku) GROUP BY category;
--plan> reads items, products; protects customer_id, at most 40 rows in 40 groups, 40 in one
--plan> groups: public, those in products of category
--plan> sum of price in steps of 0.005 from 50000 scaled to L1 40 rows in parts of 1/1: L1 2000000, Linf 2000000, L2² 4000000000000; SummedNoise
--plan> sum of power(subtract(price, 250.0), 2) in steps of 1/512 from 16000000 scaled to L1 40 rows in parts of 1/1: L1 640000000, Linf 640000000, L2² 409600000000000000; DiscreteLaplace
--plan> rows with a value of price scaled to L1 40 rows in parts of 1/50000: L1 2000000, Linf 2000000, L2² 4000000000000; SummedNoise

-- Prices below the list price.
SELECT COUNT(*) FROM items i JOIN products p ON i.sku = p.sku WHERE i.price < p.list_price;
--plan> reads items, products; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> groups: one
--plan> rows: L1 40, Linf 40, L2² 1600; DiscreteLaplace

-- The mean reduction from the list price.
SELECT AVG(p.list_price - i.price) FROM items i JOIN products p ON i.sku = p.sku;
--plan> reads items, products; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> groups: one
--plan> sum of subtract(list_price, price) in steps of 0.005: L1 4000000, Linf 4000000, L2² 16000000000000; SummedNoise
--plan> rows with a value of subtract(list_price, price): L1 4000000, Linf 4000000, L2² 16000000000000; SummedNoise

-- What is heavy.
SELECT SUM(i.quantity * p.weight_grams) / 1000.0 AS kilograms FROM items i JOIN products p USING (sku);
--plan> reads items, products; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> groups: one
--plan> sum of multiply(quantity, weight_grams) scaled to L1 8000000 in parts of 1/1: L1 8000000, Linf 8000000, L2² 64000000000000; DiscreteLaplace

-- Shipping time.
SELECT AVG(shipped - ordered), COUNT(*) FROM orders WHERE shipped IS NOT NULL AND shipped >= ordered;
--plan> reads orders; protects customer_id, at most 10 rows in 1 group, 10 in one
--plan> groups: one
--plan> sum of diff_day(ordered, shipped) in steps of 0.5 from 31: L1 477120, Linf 477120, L2² 227643494400; SummedNoise
--plan> rows with a value of diff_day(ordered, shipped): L1 477120, Linf 477120, L2² 227643494400; SummedNoise
--plan> rows: L1 10, Linf 10, L2² 100; DiscreteLaplace

-- Late orders by channel.
SELECT channel, COUNT_IF(DATE_DIFF('day', ordered, shipped) > 3) AS late FROM orders WHERE channel IS NOT NULL GROUP BY channel;
--plan> reads orders; protects customer_id, at most 10 rows in 3 groups, 10 in one
--plan> groups: public, web/shop/phone of channel
--plan> rows with a value of case(greater(diff_day(ordered, shipped), 3), 1, None) scaled to L1 10 rows in parts of 1/65536: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace

-- Not shipped yet.
SELECT COUNT(*) FROM orders WHERE shipped IS NULL;
--plan> reads orders; protects customer_id, at most 10 rows in 1 group, 10 in one
--plan> groups: one
--plan> rows: L1 10, Linf 10, L2² 100; DiscreteLaplace

-- Stores without orders are shown.
SELECT s.store, COUNT(DISTINCT o.customer_id) AS buyers FROM stores s LEFT JOIN orders o ON o.store = s.store GROUP BY s.store ORDER BY buyers DESC, s.store;
--plan> reads stores, orders; protects customer_id, at most 10 rows in 10 groups, 10 in one
--plan> groups: public, those in stores of store
--plan> units of case(not(is_null(customer_id)), 1, None): L1 10, Linf 1, L2² 10; DiscreteLaplace

-- How old a store was when somebody ordered.
SELECT AVG(DATE_DIFF('year', s.opened, o.ordered)) FROM orders o JOIN stores s ON s.store = o.store;
--plan> reads orders, stores; protects customer_id, at most 10 rows in 1 group, 10 in one
--plan> groups: one
--plan> sum of diff_year(opened, ordered) in steps of 0.5 from 23: L1 512000, Linf 512000, L2² 262144000000; SummedNoise
--plan> rows with a value of diff_year(opened, ordered): L1 512000, Linf 512000, L2² 262144000000; SummedNoise

-- Free shipping.
SELECT COUNT_IF(shipping = 0) / COUNT(shipping) AS free_share FROM orders;
--plan> reads orders; protects customer_id, at most 10 rows in 1 group, 10 in one
--plan> groups: one
--plan> sum of case(not(is_null(shipping)), case(equal(shipping, 0), 1, 0), None): L1 10, Linf 10, L2² 100; DiscreteGaussian
--plan> rows with a value of case(not(is_null(shipping)), case(equal(shipping, 0), 1, 0), None): L1 10, Linf 10, L2² 100; DiscreteGaussian

-- Shipping by the standard's filter.
SELECT SUM(shipping) FILTER (WHERE channel = 'web') AS web, SUM(shipping) FILTER (WHERE channel = 'phone') AS phone FROM orders;
--plan> reads orders; protects customer_id, at most 10 rows in 1 group, 10 in one
--plan> groups: one
--plan> sum of case(equal(channel, 'web'), shipping, None) in steps of 0.01 scaled to L1 50000 in parts of 1/8: L1 400000, Linf 400000, L2² 160000000000; DiscreteLaplace
--plan> sum of case(equal(channel, 'phone'), shipping, None) in steps of 0.01 scaled to L1 50000 in parts of 1/8: L1 400000, Linf 400000, L2² 160000000000; DiscreteLaplace

-- Coupons in any case.
SELECT UPPER(coupon) AS coupon, COUNT(*) FROM orders WHERE coupon IS NOT NULL GROUP BY 1;
--plan> reads orders; protects customer_id, at most 10 rows in 10 groups, 10 in one
--plan> groups: selected privately, by upper(coupon)
--plan> rows scaled to L2² 31 rows in parts of 1/131072: L1 532575944704, Linf 729778, L2² 532575944704; DiscreteGaussian
--plan> units weighted by their groups in steps of 1/1024: L1 3239, Linf 1024, L2² 1048576; DiscreteGaussian

-- Orders with a coupon, by kind.
SELECT CASE WHEN coupon IS NULL THEN 'none' WHEN coupon ILIKE 'save%' THEN 'saving' WHEN coupon LIKE 'VIP!_%' ESCAPE '!' THEN 'vip' ELSE 'other' END AS kind, COUNT(*) FROM orders GROUP BY kind;
--plan> reads orders; protects customer_id, at most 10 rows in 4 groups, 10 in one
--plan> groups: public, none/saving/vip/other of case(is_null(coupon), 'none', ilike(coupon, 'save%'), 'saving', like(coupon, 'VIP!_%', '!'), 'vip', 'other')
--plan> rows scaled to L1 10 rows in parts of 1/65536: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace

-- Customers with a telephone of a country.
SELECT SUBSTRING(phone FROM 2 FOR 2) AS prefix, COUNT(*) FROM customers WHERE phone IS NOT NULL GROUP BY prefix;
--plan> reads customers; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by substring(phone, 2, 2)
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- TPC-H's way to choose telephones.
SELECT COUNT(*) FROM customers WHERE SUBSTRING(phone, 2, 2) IN ('39', '47') AND age > 30;
--plan> reads customers; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Bands of prices by a list.
SELECT CASE WHEN price = 0 THEN 'free' WHEN price < 10 THEN 'cheap' WHEN price < 100 THEN 'usual' ELSE 'dear' END AS band, COUNT(*), SUM(quantity) FROM items WHERE price IS NOT NULL GROUP BY band;
--plan> reads items; protects customer_id, at most 40 rows in 4 groups, 40 in one
--plan> groups: public, free/cheap/usual/dear of case(equal(price, 0), 'free', less(price, 10), 'cheap', less(price, 100), 'usual', 'dear')
--plan> rows scaled to L1 40 rows in parts of 1/16384: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace
--plan> sum of quantity scaled to L1 40 rows in parts of 1/1024: L1 409600, Linf 409600, L2² 167772160000; DiscreteLaplace

-- A large sum over a small one.
SELECT 100.00 * SUM(CASE WHEN p.category = 'office' THEN i.price * i.quantity ELSE 0 END) / SUM(i.price * i.quantity) AS office_share FROM items i JOIN products p ON p.sku = i.sku;
--plan> reads items, products; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> groups: one
--plan> sum of case(equal(category, 'office'), multiply(price, quantity), 0) in steps of 0.01 scaled to L1 20000000 in parts of 1/1: L1 20000000, Linf 20000000, L2² 400000000000000; DiscreteLaplace
--plan> sum of multiply(price, quantity) in steps of 0.01 scaled to L1 20000000 in parts of 1/1: L1 20000000, Linf 20000000, L2² 400000000000000; DiscreteLaplace

-- TPC-H's first question.
SELECT returned, SUM(quantity) AS sum_qty, SUM(price) AS sum_base, SUM(price * (1 - discount)) AS sum_disc, AVG(quantity) AS avg_qty, AVG(price) AS avg_price, AVG(discount) AS avg_disc, COUNT(*) AS n FROM items WHERE returned IS NOT NULL GROUP BY returned ORDER BY returned;
--plan> reads items; protects customer_id, at most 40 rows in 2 groups, 40 in one
--plan> groups: public, False/True of returned
--plan> sum of quantity in steps of 0.5 from 11 scaled to L1 40 rows in parts of 1/1024: L1 368640, Linf 368640, L2² 135895449600; SummedNoise
--plan> rows with a value of quantity scaled to L1 40 rows in parts of 1/9216: L1 368640, Linf 368640, L2² 135895449600; SummedNoise
--plan> sum of price in steps of 0.005 from 50000 scaled to L1 40 rows in parts of 1/1: L1 2000000, Linf 2000000, L2² 4000000000000; SummedNoise
--plan> rows with a value of price scaled to L1 40 rows in parts of 1/50000: L1 2000000, Linf 2000000, L2² 4000000000000; SummedNoise
--plan> sum of multiply(price, subtract(1, discount)) in steps of 1/65536 scaled to L1 40 rows in parts of 1/1: L1 1310720000, Linf 1310720000, L2² 1717986918400000000; DiscreteLaplace
--plan> sum of discount in steps of 1/67108864 from 16777216 scaled to L1 40 rows in parts of 1/1: L1 671088640, Linf 671088640, L2² 450359962737049600; SummedNoise
--plan> rows with a value of discount scaled to L1 40 rows in parts of 1/16777216: L1 671088640, Linf 671088640, L2² 450359962737049600; SummedNoise
--plan> rows scaled to L1 40 rows in parts of 1/16384: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace

-- TPC-H's sixth question.
SELECT SUM(price * discount) AS revenue FROM items WHERE discount BETWEEN 0.1 AND 0.3 AND quantity < 5;
--plan> reads items; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> groups: one
--plan> sum of multiply(price, discount) in steps of 1/131072 scaled to L1 786432000 in parts of 1/1: L1 786432000, Linf 786432000, L2² 618475290624000000; DiscreteLaplace

-- TPC-H's fourteenth question.
SELECT 100.00 * SUM(CASE WHEN p.sku LIKE 'TV%' THEN i.price * (1 - i.discount) ELSE 0 END) / SUM(i.price * (1 - i.discount)) AS share FROM items i, products p WHERE i.sku = p.sku;
--plan> reads items, products; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> groups: one
--plan> sum of case(like(sku, 'TV%'), multiply(price, subtract(1, discount)), 0) in steps of 1/65536 scaled to L1 1310720000 in parts of 1/1: L1 1310720000, Linf 1310720000, L2² 1717986918400000000; DiscreteLaplace
--plan> sum of multiply(price, subtract(1, discount)) in steps of 1/65536 scaled to L1 1310720000 in parts of 1/1: L1 1310720000, Linf 1310720000, L2² 1717986918400000000; DiscreteLaplace

-- TPC-H's nineteenth question.
SELECT SUM(i.price * (1 - i.discount)) FROM items i, products p WHERE (p.sku = i.sku AND p.brand = 'Sonic' AND i.quantity BETWEEN 1 AND 3) OR (p.sku = i.sku AND p.brand = 'Oak' AND i.quantity >= 2);
--plan> reads items, products; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> groups: one
--plan> sum of multiply(price, subtract(1, discount)) in steps of 1/65536 scaled to L1 1310720000 in parts of 1/1: L1 1310720000, Linf 1310720000, L2² 1717986918400000000; DiscreteLaplace

-- Public tables alone cost nothing.
SELECT category, COUNT(*), AVG(list_price), MAX(weight_grams) FROM products GROUP BY category ORDER BY category;
--plan> reads products; protects nobody; rows as they are

-- Rows of a public table.
SELECT sku, list_price FROM products WHERE list_price > 100 ORDER BY list_price DESC, sku LIMIT 3;
--plan> reads products; protects nobody; rows as they are

-- Ordered by what is not shown.
SELECT sku FROM products ORDER BY list_price DESC, LENGTH(sku), sku LIMIT 5;
--plan> reads products; protects nobody; rows as they are

-- A table's own column, though the answer has another of that name.
SELECT p.category AS sku, list_price AS category FROM products p ORDER BY p.sku DESC, category LIMIT 5;
--plan> reads products; protects nobody; rows as they are

-- All columns, and an order of one's own.
SELECT * FROM products ORDER BY products.list_price / 2 DESC, sku LIMIT 3;
--plan> reads products; protects nobody; rows as they are

-- The column that is shown, by its words and not its name.
SELECT DISTINCT p.category FROM products p WHERE p.category IS NOT NULL ORDER BY p.category DESC;
--plan> reads products; protects nobody; rows as they are
