-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Requests have a column of the name of an argument of this function since they are filed in batches;
-- inside of it the name means the argument, as it did before.

DO $$
DECLARE
  whole CONSTANT text := pg_get_functiondef('shepherd_trim_logs'::regproc);
BEGIN
  EXECUTE regexp_replace(whole, '(AS \$[a-z]*\$)', E'\\1\n#variable_conflict use_variable');
END $$;

-- Down Migration

DO $$
DECLARE
  whole CONSTANT text := pg_get_functiondef('shepherd_trim_logs'::regproc);
BEGIN
  EXECUTE replace(whole, E'\n#variable_conflict use_variable', '');
END $$;
