-- Up Migration
-- Runs beside: 0.1.0 and later.

-- The slot of a machine that is given back stays free until a person says otherwise. A daemon of a version
-- before this one leaves it to the provisioner when it ends the deprovision itself.

ALTER TABLE machine_deprovision_request
  ADD COLUMN return_to_pool boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN machine_deprovision_request.return_to_pool IS 'true: the next machine may be made on its slot at once. false: a hold no-allocate keeps the slot free.';

-- Down Migration

ALTER TABLE machine_deprovision_request DROP COLUMN return_to_pool;
