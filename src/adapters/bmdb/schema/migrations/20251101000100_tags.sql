-- Up Migration
-- Runs beside: 0.1.0 and later.

-- What is known of a machine: one table per kind of fact, at most one row per machine.

CREATE TYPE provider_status AS ENUM (
  'Missing', 'Provisioning', 'ProvisioningFailedPermanent', 'Running', 'Stopped', 'Unknown'
);
CREATE TYPE machine_os_installation_result AS ENUM ('Success', 'Error');
CREATE TYPE quarantine_kind AS ENUM ('needsHuman', 'conflict', 'byOperator');
CREATE TYPE recovery_rung AS ENUM ('restartingAgent', 'rebooting', 'powerCycling', 'reinstalling');

CREATE TABLE machine_provided (
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT,
  provider text NOT NULL,
  provider_id varchar(128) NOT NULL,
  provider_reservation_id varchar(128),
  provider_ip_address varchar(255),
  provider_location varchar(255),
  provider_status provider_status,
  provider_missing_since timestamptz CHECK (isfinite(provider_missing_since)),
  provider_missing_seen bigint NOT NULL DEFAULT 0,
  CONSTRAINT machine_provided_provider_id_key UNIQUE (provider, provider_id)
);
CREATE UNIQUE INDEX machine_provided_reservation_key
  ON machine_provided (provider, provider_reservation_id)
  WHERE provider_reservation_id IS NOT NULL;
-- For the recovery budget of a location.
CREATE INDEX machine_provided_location_idx ON machine_provided (provider_location);
COMMENT ON TABLE machine_provided IS 'Which hardware the machine is.';
COMMENT ON COLUMN machine_provided.machine_id IS 'The machine.';
COMMENT ON COLUMN machine_provided.provider IS 'Configured name of the provider.';
COMMENT ON COLUMN machine_provided.provider_id IS 'The provider''s name of the device; opaque.';
COMMENT ON COLUMN machine_provided.provider_reservation_id IS 'Names the slot; written with the row and never changed. One machine per reservation.';
COMMENT ON COLUMN machine_provided.provider_ip_address IS 'host or host:port; null until known.';
COMMENT ON COLUMN machine_provided.provider_location IS 'Such as a facility or a rack.';
COMMENT ON COLUMN machine_provided.provider_status IS 'Last status the provider reported.';
COMMENT ON COLUMN machine_provided.provider_missing_since IS 'First of the unbroken observations that the provider does not know the device.';
COMMENT ON COLUMN machine_provided.provider_missing_seen IS 'How many complete listings in a row did not know the device.';

CREATE TABLE machine_agent_started (
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT,
  agent_started_at timestamptz NOT NULL CHECK (isfinite(agent_started_at)),
  agent_public_key bytea NOT NULL,
  boot_id text
);
CREATE INDEX machine_agent_started_key_idx
  ON machine_agent_started (agent_public_key) INCLUDE (agent_started_at);
COMMENT ON TABLE machine_agent_started IS 'An agent was started on the machine; only the holder of its key may report for it.';
COMMENT ON COLUMN machine_agent_started.machine_id IS 'The machine.';
COMMENT ON COLUMN machine_agent_started.agent_started_at IS 'When the start was recorded.';
COMMENT ON COLUMN machine_agent_started.agent_public_key IS 'Raw Ed25519 public key, 32 bytes.';
COMMENT ON COLUMN machine_agent_started.boot_id IS 'Boot id of the machine when the agent was started.';

CREATE TABLE machine_agent_heartbeat (
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT,
  agent_heartbeat_at timestamptz NOT NULL CHECK (isfinite(agent_heartbeat_at)),
  boot_id text,
  unbroken_since timestamptz NOT NULL DEFAULT now() CHECK (isfinite(unbroken_since)),
  unbroken_count bigint NOT NULL DEFAULT 1
-- Every row is updated twice a minute: with room on its page no index is touched.
) WITH (fillfactor = 50);
COMMENT ON TABLE machine_agent_heartbeat IS 'Last sign of life of the agent.';
COMMENT ON COLUMN machine_agent_heartbeat.machine_id IS 'The machine.';
COMMENT ON COLUMN machine_agent_heartbeat.agent_heartbeat_at IS 'When it came, by the database clock; never goes back.';
COMMENT ON COLUMN machine_agent_heartbeat.boot_id IS 'Boot id it reported.';
COMMENT ON COLUMN machine_agent_heartbeat.unbroken_since IS 'First heartbeat of the present run without a gap.';
COMMENT ON COLUMN machine_agent_heartbeat.unbroken_count IS 'Heartbeats in that run. Three give a recovery permit back; thirty minutes reset the ladder.';

CREATE TABLE machine_hardware_report (
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT,
  hardware_report_raw bytea NOT NULL
);
COMMENT ON TABLE machine_hardware_report IS 'What the agent found in the machine.';
COMMENT ON COLUMN machine_hardware_report.machine_id IS 'The machine.';
COMMENT ON COLUMN machine_hardware_report.hardware_report_raw IS 'Serialized AgentHardwareReport.';

CREATE TABLE machine_os_installation_request (
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT,
  generation bigint NOT NULL,
  os_installation_request_raw bytea NOT NULL,
  handed_out_at timestamptz CHECK (isfinite(handed_out_at))
);
COMMENT ON TABLE machine_os_installation_request IS 'An operating system is to be installed.';
COMMENT ON COLUMN machine_os_installation_request.machine_id IS 'The machine.';
COMMENT ON COLUMN machine_os_installation_request.generation IS 'Grows with each new request; a report names the one it answers.';
COMMENT ON COLUMN machine_os_installation_request.os_installation_request_raw IS 'Serialized OSInstallationRequest; once this generation is reported, without what a first boot was told.';
COMMENT ON COLUMN machine_os_installation_request.handed_out_at IS 'When this generation was first answered to the agent; cleared by a trigger when the generation changes.';

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

CREATE TABLE machine_os_installation_report (
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT,
  generation bigint NOT NULL,
  os_installation_result machine_os_installation_result NOT NULL,
  os_installation_report_raw bytea NOT NULL
);
COMMENT ON TABLE machine_os_installation_report IS 'What became of an installation. Its generation is not tied to the request: a mismatch means the request is still pending.';
COMMENT ON COLUMN machine_os_installation_report.machine_id IS 'The machine.';
COMMENT ON COLUMN machine_os_installation_report.generation IS 'The request it answers.';
COMMENT ON COLUMN machine_os_installation_report.os_installation_result IS 'Success is never replaced by Error for one generation.';
COMMENT ON COLUMN machine_os_installation_report.os_installation_report_raw IS 'Serialized OSInstallationReport.';

CREATE TABLE machine_agent_start_attempt (
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT,
  attempted_at timestamptz CHECK (isfinite(attempted_at)),
  count bigint NOT NULL,
  unreached bigint NOT NULL DEFAULT 0
);
COMMENT ON TABLE machine_agent_start_attempt IS 'An agent may have been executed without being recorded. Old or often failed: the ladder takes over.';
COMMENT ON COLUMN machine_agent_start_attempt.machine_id IS 'The machine.';
COMMENT ON COLUMN machine_agent_start_attempt.attempted_at IS 'Written before the agent is executed; null: it never was, only failures before that are counted.';
COMMENT ON COLUMN machine_agent_start_attempt.count IS 'Failures in a row.';
COMMENT ON COLUMN machine_agent_start_attempt.unreached IS 'How many of these failures never reached the machine.';

CREATE TABLE machine_recovery (
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT,
  rung recovery_rung NOT NULL,
  attempts bigint NOT NULL,
  asked_at timestamptz CHECK (isfinite(asked_at)),
  operation_ref text,
  next_at timestamptz CHECK (isfinite(next_at)),
  cool_down_seconds bigint,
  asked_rung recovery_rung,
  order_key text,
  boot_id_before text,
  host_key_before text,
  off_seen_at timestamptz CHECK (isfinite(off_seen_at)),
  power_off_asked_at timestamptz CHECK (isfinite(power_off_asked_at))
);
COMMENT ON TABLE machine_recovery IS 'The ladder''s memory of one episode.';
COMMENT ON COLUMN machine_recovery.machine_id IS 'The machine.';
COMMENT ON COLUMN machine_recovery.rung IS 'Where the machine is on the ladder.';
COMMENT ON COLUMN machine_recovery.attempts IS 'Attempts on this rung; 0: none yet.';
COMMENT ON COLUMN machine_recovery.asked_at IS 'When something was last about to be asked for; null: it was refused or proved since.';
COMMENT ON COLUMN machine_recovery.operation_ref IS 'The provider''s name of the accepted operation.';
COMMENT ON COLUMN machine_recovery.next_at IS 'No rung starts before; null: none.';
COMMENT ON COLUMN machine_recovery.cool_down_seconds IS 'Last cool-down without jitter; it grows over the whole episode.';
COMMENT ON COLUMN machine_recovery.asked_rung IS 'What that is.';
COMMENT ON COLUMN machine_recovery.order_key IS 'The operator''s request that it was for; null: the ladder''s own.';
COMMENT ON COLUMN machine_recovery.boot_id_before IS 'Boot id before it was asked for; another one proves a boot. Null: not known.';
COMMENT ON COLUMN machine_recovery.host_key_before IS 'Pinned SSH host key before it was asked for.';
COMMENT ON COLUMN machine_recovery.off_seen_at IS 'Power cycling: when the power was seen off since.';
COMMENT ON COLUMN machine_recovery.power_off_asked_at IS 'When its power was asked off; null: it was accepted since that it is switched on again. Whoever takes the machine next asks for power first.';

CREATE TABLE machine_quarantined (
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT,
  kind quarantine_kind NOT NULL,
  reason text NOT NULL,
  until timestamptz CHECK (isfinite(until)),
  set_by text NOT NULL
);
COMMENT ON TABLE machine_quarantined IS 'Nothing is done to the machine until somebody decides.';
COMMENT ON COLUMN machine_quarantined.machine_id IS 'The machine.';
COMMENT ON COLUMN machine_quarantined.kind IS 'Why, in one word.';
COMMENT ON COLUMN machine_quarantined.reason IS 'Why, for people.';
COMMENT ON COLUMN machine_quarantined.until IS 'Ends by itself then; null: never.';
COMMENT ON COLUMN machine_quarantined.set_by IS 'Who set it.';

CREATE TABLE machine_ssh_host_key (
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT,
  key text NOT NULL
);
COMMENT ON TABLE machine_ssh_host_key IS 'SSH host key pinned on first use.';
COMMENT ON COLUMN machine_ssh_host_key.machine_id IS 'The machine.';
COMMENT ON COLUMN machine_ssh_host_key.key IS 'Base64 of the wire form.';

CREATE TABLE machine_deprovision_request (
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT,
  requested_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(requested_at)),
  requested_by text NOT NULL,
  reason text NOT NULL,
  asked_at timestamptz CHECK (isfinite(asked_at)),
  attempts bigint NOT NULL DEFAULT 0,
  drain text CHECK (drain IN ('skip', 'force')),
  return_to_pool boolean NOT NULL DEFAULT false
);
COMMENT ON TABLE machine_deprovision_request IS 'The machine is to be given back to the provider.';
COMMENT ON COLUMN machine_deprovision_request.machine_id IS 'The machine.';
COMMENT ON COLUMN machine_deprovision_request.requested_at IS 'When it was asked for.';
COMMENT ON COLUMN machine_deprovision_request.requested_by IS 'Who asked.';
COMMENT ON COLUMN machine_deprovision_request.reason IS 'Why.';
COMMENT ON COLUMN machine_deprovision_request.asked_at IS 'When the provider was last asked to take it back; null: not yet.';
COMMENT ON COLUMN machine_deprovision_request.attempts IS 'How often the provider was asked.';
COMMENT ON COLUMN machine_deprovision_request.drain IS 'skip: without waiting for balancers to let it go. force: though fewer members stay active than a pool is to have. Null: neither.';
COMMENT ON COLUMN machine_deprovision_request.return_to_pool IS 'true: the next machine may be made on its slot at once. false: a hold no-allocate keeps the slot free.';

CREATE TABLE machine_boot_times (
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT,
  reboot_seconds bigint[] NOT NULL DEFAULT '{}',
  reinstall_seconds bigint[] NOT NULL DEFAULT '{}'
);
COMMENT ON TABLE machine_boot_times IS 'How long the machine took to boot the last times: how long the next one is waited for.';
COMMENT ON COLUMN machine_boot_times.machine_id IS 'The machine.';
COMMENT ON COLUMN machine_boot_times.reboot_seconds IS 'From the request of a reboot or power cycle to its proof, newest first.';
COMMENT ON COLUMN machine_boot_times.reinstall_seconds IS 'From the request of a reinstallation to its proof, newest first.';

CREATE TABLE silent_machines (
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE CASCADE,
  silent_since timestamptz NOT NULL CHECK (isfinite(silent_since))
);
COMMENT ON TABLE silent_machines IS 'Machines of which the log of their slot says that they fell silent, and not yet that they were heard again.';
COMMENT ON COLUMN silent_machines.machine_id IS 'The machine.';
COMMENT ON COLUMN silent_machines.silent_since IS 'Its last heartbeat before; that of its agent''s start where there was none since.';

-- Down Migration

DROP TABLE silent_machines, machine_boot_times, machine_deprovision_request, machine_ssh_host_key,
  machine_quarantined, machine_recovery, machine_agent_start_attempt,
  machine_os_installation_report, machine_os_installation_request, machine_hardware_report,
  machine_agent_heartbeat, machine_agent_started, machine_provided;
DROP FUNCTION machine_os_installation_request_renewed CASCADE;
DROP TYPE recovery_rung, quarantine_kind, machine_os_installation_result, provider_status;
