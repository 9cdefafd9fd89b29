-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Facts about a machine: one table for each kind, at most one row per machine.

CREATE TYPE provider_status AS ENUM (
  'Missing', 'Provisioning', 'ProvisioningFailedPermanent', 'Running', 'Stopped', 'Unknown'
);
CREATE TYPE machine_os_installation_result AS ENUM ('Success', 'Error');
CREATE TYPE quarantine_kind AS ENUM ('needsHuman', 'conflict', 'byOperator');
CREATE TYPE recovery_rung AS ENUM ('restartingAgent', 'rebooting', 'powerCycling', 'reinstalling');

CREATE TABLE machine_provided ( -- Which hardware the machine is.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  provider text NOT NULL, -- Configured name of the provider.
  provider_id varchar(128) NOT NULL, -- The provider's name of the device; opaque.
  provider_reservation_id varchar(128), -- Names the slot; written with the row and never changed. One machine per reservation.
  provider_ip_address varchar(255), -- host or host:port; null until known.
  provider_location varchar(255), -- Such as a facility or a rack.
  provider_status provider_status, -- Last status the provider reported.
  provider_missing_since timestamptz CHECK (isfinite(provider_missing_since)), -- First of the unbroken observations that the provider does not know the device.
  provider_missing_seen bigint NOT NULL DEFAULT 0, -- How many complete listings in a row did not know the device.
  CONSTRAINT machine_provided_provider_id_key UNIQUE (provider, provider_id)
);
CREATE UNIQUE INDEX machine_provided_reservation_key
  ON machine_provided (provider, provider_reservation_id)
  WHERE provider_reservation_id IS NOT NULL;
-- For the recovery budget of a location.
CREATE INDEX machine_provided_location_idx ON machine_provided (provider_location);

CREATE TABLE machine_agent_started ( -- An agent was started on the machine; only the holder of its key may report for it.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  agent_started_at timestamptz NOT NULL CHECK (isfinite(agent_started_at)), -- When the start was recorded.
  agent_public_key bytea NOT NULL, -- Raw Ed25519 public key, 32 bytes.
  boot_id text -- Boot id of the machine when the agent was started.
);
CREATE INDEX machine_agent_started_key_idx
  ON machine_agent_started (agent_public_key) INCLUDE (agent_started_at);

CREATE TABLE machine_agent_heartbeat ( -- Last sign of life of the agent.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  agent_heartbeat_at timestamptz NOT NULL CHECK (isfinite(agent_heartbeat_at)), -- When it came, by the database clock; never goes back.
  boot_id text, -- Boot id it reported.
  unbroken_since timestamptz NOT NULL DEFAULT now() CHECK (isfinite(unbroken_since)), -- First heartbeat of the present run without a gap.
  unbroken_count bigint NOT NULL DEFAULT 1 -- Heartbeats in that run. Three give a recovery permit back; thirty minutes reset the ladder.
-- Every row is updated twice a minute: with room on its page, no index is touched.
) WITH (fillfactor = 50);

CREATE TABLE machine_hardware_report ( -- What the agent found in the machine.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  hardware_report_raw bytea NOT NULL -- Serialized AgentHardwareReport.
);

CREATE TABLE machine_os_installation_request ( -- An operating system is to be installed.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  generation bigint NOT NULL, -- Grows with each new request; a report names the one it answers.
  os_installation_request_raw bytea NOT NULL, -- Serialized OSInstallationRequest; once this generation is reported, without what a first boot was told.
  handed_out_at timestamptz CHECK (isfinite(handed_out_at)) -- When this generation was first answered to the agent; cleared by a trigger when the generation changes.
);

CREATE FUNCTION machine_os_installation_request_renewed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.handed_out_at := NULL;
  RETURN NEW;
END $$;
COMMENT ON FUNCTION machine_os_installation_request_renewed IS 'A new generation has not been handed out yet.';
CREATE TRIGGER machine_os_installation_request_renewed
  BEFORE UPDATE OF generation ON machine_os_installation_request
  FOR EACH ROW WHEN (OLD.generation <> NEW.generation)
  EXECUTE FUNCTION machine_os_installation_request_renewed();

CREATE TABLE machine_os_installation_report ( -- What became of an installation. Its generation is not tied to the request: a mismatch means the request is still pending.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  generation bigint NOT NULL, -- The request it answers.
  os_installation_result machine_os_installation_result NOT NULL, -- Success is never replaced by Error for one generation.
  os_installation_report_raw bytea NOT NULL -- Serialized OSInstallationReport.
);

CREATE TABLE machine_agent_start_attempt ( -- An agent may have been executed without being recorded. Old or often failed: the ladder takes over.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  attempted_at timestamptz CHECK (isfinite(attempted_at)), -- Written before the agent is executed; null: it never was, only failures before that are counted.
  count bigint NOT NULL, -- Failures in a row.
  unreached bigint NOT NULL DEFAULT 0 -- How many of these failures never reached the machine.
);

CREATE TABLE machine_recovery ( -- The ladder's memory of one episode.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  rung recovery_rung NOT NULL, -- Where the machine is on the ladder.
  attempts bigint NOT NULL, -- Attempts on this rung; 0: none yet.
  asked_at timestamptz CHECK (isfinite(asked_at)), -- When something was last about to be asked for; null: it was refused or proved since.
  operation_ref text, -- The provider's name of the accepted operation.
  next_at timestamptz CHECK (isfinite(next_at)), -- No rung starts before; null: none.
  cool_down_seconds bigint, -- Last cool-down without jitter; it grows over the whole episode.
  asked_rung recovery_rung, -- What that is.
  order_key text, -- The operator's request that it was for; null: the ladder's own.
  boot_id_before text, -- Boot id before it was asked for; another one proves a boot. Null: not known.
  host_key_before text, -- Pinned SSH host key before it was asked for.
  off_seen_at timestamptz CHECK (isfinite(off_seen_at)), -- Power cycling: when the power was seen off since.
  power_off_asked_at timestamptz CHECK (isfinite(power_off_asked_at)) -- When its power was asked off; null: it was accepted since that it is switched on again. Whoever takes the machine next asks for power first.
);

CREATE TABLE machine_quarantined ( -- Nothing is done to the machine until somebody decides.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  kind quarantine_kind NOT NULL, -- Why, in one word.
  reason text NOT NULL, -- Why, for people.
  until timestamptz CHECK (isfinite(until)), -- Ends by itself then; null: never.
  set_by text NOT NULL -- Who set it.
);

CREATE TABLE machine_ssh_host_key ( -- SSH host key pinned on first use.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  key text NOT NULL -- Base64 of the wire form.
);

CREATE TABLE machine_deprovision_request ( -- The machine is to be given back to the provider.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  requested_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(requested_at)), -- When it was asked for.
  requested_by text NOT NULL, -- Who asked.
  reason text NOT NULL, -- Why.
  asked_at timestamptz CHECK (isfinite(asked_at)), -- When the provider was last asked to take it back; null: not yet.
  attempts bigint NOT NULL DEFAULT 0, -- How often the provider was asked.
  drain text CHECK (drain IN ('skip', 'force')), -- skip: without waiting for balancers to let it go. force: though fewer members stay active than a pool is to have. Null: neither.
  return_to_pool boolean NOT NULL DEFAULT false -- true: the next machine may be made on its slot at once. false: a hold no-allocate keeps the slot free.
);

CREATE TABLE machine_boot_times ( -- How long the machine took to boot the last times: how long the next one is waited for.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  reboot_seconds bigint[] NOT NULL DEFAULT '{}', -- From the request of a reboot or power cycle to its proof, newest first.
  reinstall_seconds bigint[] NOT NULL DEFAULT '{}' -- From the request of a reinstallation to its proof, newest first.
);

CREATE TABLE silent_machines ( -- Machines of which the log of their slot says that they fell silent, and not yet that they were heard again.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE CASCADE, -- The machine.
  silent_since timestamptz NOT NULL CHECK (isfinite(silent_since)) -- Its last heartbeat before; that of its agent's start where there was none since.
);

-- Down Migration

DROP TABLE silent_machines, machine_boot_times, machine_deprovision_request, machine_ssh_host_key,
  machine_quarantined, machine_recovery, machine_agent_start_attempt,
  machine_os_installation_report, machine_os_installation_request, machine_hardware_report,
  machine_agent_heartbeat, machine_agent_started, machine_provided;
DROP FUNCTION machine_os_installation_request_renewed CASCADE;
DROP TYPE recovery_rung, quarantine_kind, machine_os_installation_result, provider_status;
