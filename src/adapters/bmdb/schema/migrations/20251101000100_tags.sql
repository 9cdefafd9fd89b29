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
  provider_id varchar(128) NOT NULL, -- The provider's name for the device; opaque.
  provider_reservation_id varchar(128), -- Name of the slot; never changed after the insert. One machine per reservation.
  provider_ip_address varchar(255), -- host or host:port; null until known.
  provider_location varchar(255), -- For example a facility or a rack.
  provider_status provider_status, -- Last status that the provider reported.
  provider_missing_since timestamptz CHECK (isfinite(provider_missing_since)), -- First of the unbroken series of listings without the device.
  provider_missing_seen bigint NOT NULL DEFAULT 0, -- Number of consecutive complete listings without the device.
  CONSTRAINT machine_provided_provider_id_key UNIQUE (provider, provider_id)
);
CREATE UNIQUE INDEX machine_provided_reservation_key
  ON machine_provided (provider, provider_reservation_id)
  WHERE provider_reservation_id IS NOT NULL;
-- For the recovery budget of a location.
CREATE INDEX machine_provided_location_idx ON machine_provided (provider_location);

CREATE TABLE machine_agent_started ( -- An agent was started on the machine; only the holder of its key may report for the machine.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  agent_started_at timestamptz NOT NULL CHECK (isfinite(agent_started_at)), -- Time at which the start was recorded.
  agent_public_key bytea NOT NULL, -- Raw Ed25519 public key, 32 bytes.
  boot_id text -- The machine's boot id at the agent's start.
);
CREATE INDEX machine_agent_started_key_idx
  ON machine_agent_started (agent_public_key) INCLUDE (agent_started_at);

CREATE TABLE machine_agent_heartbeat ( -- Last sign of life of the agent.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  agent_heartbeat_at timestamptz NOT NULL CHECK (isfinite(agent_heartbeat_at)), -- Time of arrival by the database clock; never goes back.
  boot_id text, -- Reported boot id.
  unbroken_since timestamptz NOT NULL DEFAULT now() CHECK (isfinite(unbroken_since)), -- First heartbeat of the current series without a gap.
  unbroken_count bigint NOT NULL DEFAULT 1 -- Heartbeats in that series. Three return a recovery permit; thirty minutes reset the ladder.
-- Every row is updated twice a minute: with room on its page, no index is touched.
) WITH (fillfactor = 50);

CREATE TABLE machine_hardware_report ( -- Hardware that the agent found in the machine.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  hardware_report_raw bytea NOT NULL -- Serialized AgentHardwareReport.
);

CREATE TABLE machine_os_installation_request ( -- An operating system to install.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  generation bigint NOT NULL, -- Grows with each new request; a report names the generation that it answers.
  os_installation_request_raw bytea NOT NULL, -- Serialized OSInstallationRequest; without first-boot data once this generation is reported.
  handed_out_at timestamptz CHECK (isfinite(handed_out_at)) -- When an agent first received this generation; a trigger clears it when the generation changes.
);

CREATE FUNCTION machine_os_installation_request_renewed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.handed_out_at := NULL;
  RETURN NEW;
END $$;
COMMENT ON FUNCTION machine_os_installation_request_renewed IS 'Row-level trigger: clears handed_out_at for a new generation.';
CREATE TRIGGER machine_os_installation_request_renewed
  BEFORE UPDATE OF generation ON machine_os_installation_request
  FOR EACH ROW WHEN (OLD.generation <> NEW.generation)
  EXECUTE FUNCTION machine_os_installation_request_renewed();

CREATE TABLE machine_os_installation_report ( -- Result of an installation. Its generation may differ from the request's: then the request is still pending.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  generation bigint NOT NULL, -- Generation of the request that the report answers.
  os_installation_result machine_os_installation_result NOT NULL, -- For one generation, Error never replaces Success.
  os_installation_report_raw bytea NOT NULL -- Serialized OSInstallationReport.
);

CREATE TABLE machine_agent_start_attempt ( -- An agent may have run without a record of its start. If the attempt is old or has failed often, the ladder takes over.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  attempted_at timestamptz CHECK (isfinite(attempted_at)), -- Written before the agent runs; null: no agent ran, the row only counts earlier failures.
  count bigint NOT NULL, -- Consecutive failures.
  unreached bigint NOT NULL DEFAULT 0 -- Number of these failures that never reached the machine.
);

CREATE TABLE machine_recovery ( -- The ladder's memory of one recovery.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  rung recovery_rung NOT NULL, -- Current rung of the ladder.
  attempts bigint NOT NULL, -- Attempts on this rung; may be 0.
  asked_at timestamptz CHECK (isfinite(asked_at)), -- Written before the last request; null: that request was refused, or its effect was proved.
  operation_ref text, -- The provider's name for the accepted operation.
  next_at timestamptz CHECK (isfinite(next_at)), -- No rung starts before this time; null: no wait.
  cool_down_seconds bigint, -- Last cool-down without jitter; it grows over the whole episode.
  asked_rung recovery_rung, -- Rung of the last request.
  order_key text, -- Operator's order of the last request; null: the ladder's own request.
  boot_id_before text, -- Boot id before the last request; a different one proves a boot. Null: unknown.
  host_key_before text, -- Pinned SSH host key before the last request.
  off_seen_at timestamptz CHECK (isfinite(off_seen_at)), -- Power cycling: when the power was seen off after the request.
  power_off_asked_at timestamptz CHECK (isfinite(power_off_asked_at)) -- Time of the last power-off request; null: a later power-on request was accepted. The next work on the machine first requests power-on.
);

CREATE TABLE machine_quarantined ( -- Nothing is done to the machine until a person decides.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  kind quarantine_kind NOT NULL, -- Reason in one word.
  reason text NOT NULL, -- Reason for people.
  until timestamptz CHECK (isfinite(until)), -- When the quarantine ends by itself; null: never.
  set_by text NOT NULL -- Component or person that set it.
);

CREATE TABLE machine_ssh_host_key ( -- SSH host key pinned on first use.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  key text NOT NULL -- Base64 of the wire form.
);

CREATE TABLE machine_deprovision_request ( -- The machine is to be given back to the provider.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  requested_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(requested_at)), -- Time of the request.
  requested_by text NOT NULL, -- Requester.
  reason text NOT NULL, -- Reason for the request.
  asked_at timestamptz CHECK (isfinite(asked_at)), -- Last request to the provider to take the machine back; null: none yet.
  attempts bigint NOT NULL DEFAULT 0, -- Number of requests to the provider.
  drain text CHECK (drain IN ('skip', 'force')), -- skip: do not wait for balancers to drain the machine. force: drain it even if fewer active members stay than the pool requires. Null: neither.
  return_to_pool boolean NOT NULL DEFAULT false -- true: the next machine may be created on the slot at once. false: a hold no-allocate keeps the slot free.
);

CREATE TABLE machine_boot_times ( -- The machine's last boot durations; they determine how long the next boot may take.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  reboot_seconds bigint[] NOT NULL DEFAULT '{}', -- From the request of a reboot or power cycle to its proof, newest first.
  reinstall_seconds bigint[] NOT NULL DEFAULT '{}' -- From the request of a reinstallation to its proof, newest first.
);

CREATE TABLE silent_machines ( -- Machines whose slot's log says that they fell silent, and not yet that they were heard again.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE CASCADE, -- The machine.
  silent_since timestamptz NOT NULL CHECK (isfinite(silent_since)) -- Last heartbeat before the silence; the agent's start if there was no heartbeat after it.
);

-- Down Migration

DROP TABLE silent_machines, machine_boot_times, machine_deprovision_request, machine_ssh_host_key,
  machine_quarantined, machine_recovery, machine_agent_start_attempt,
  machine_os_installation_report, machine_os_installation_request, machine_hardware_report,
  machine_agent_heartbeat, machine_agent_started, machine_provided;
DROP FUNCTION machine_os_installation_request_renewed CASCADE;
DROP TYPE recovery_rung, quarantine_kind, machine_os_installation_result, provider_status;
