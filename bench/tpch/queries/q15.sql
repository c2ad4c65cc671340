-- the usual text looks for the supplier whose exact revenue is the maximum; here the largest noisy one
select s_suppkey, s_name, sum(l_extendedprice * (1 - l_discount)) as total_revenue
from supplier, lineitem
where s_suppkey = l_suppkey and l_shipdate >= date '1996-01-01' and l_shipdate < date '1996-01-01' + interval '3' month
group by s_suppkey, s_name
order by total_revenue desc
limit 1
