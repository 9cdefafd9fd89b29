/**
 * How an emulator moves the simulated machines behind its devices. Without hooks its devices are
 * paper only. Calls for one device come one after another; an error is logged and changes nothing.
 */
export interface MachineHooks {
  /**
   * The device gets its addresses. Answers where it will listen; the port stays the same for the
   * device's life. Published as the device's public management IPv4 address and as
   * `customdata.ssh_port`.
   */
  assign(device: SimulatedDevice): Promise<{ address: string; sshPort: number }>;
  /** The machine has booted its (throw-away) operating system: SSH answers from now on. */
  up(deviceId: string): Promise<void>;
  /** Power is gone or the machine reboots: everything that runs on it dies, SSH closes. */
  down(deviceId: string): Promise<void>;
  /**
   * A new operating system was installed while down: empty disk, new host key, and at its first boot
   * it reads the user data as they are now.
   */
  reinstalled(deviceId: string, device: SimulatedDevice): Promise<void>;
  /** The device was deleted: its disk and its port are given back. */
  gone(deviceId: string): Promise<void>;
}

export interface SimulatedDevice {
  readonly id: string;
  readonly hostname: string;
  /** `authorized_keys` lines that let in. */
  readonly authorizedKeys: readonly string[];
  /**
   * What the first boot of an installation reads: a script when it begins with `#!`, a configuration of
   * cloud-init when it begins with `#cloud-config`.
   */
  readonly userdata?: string | null;
  /** Who may log in. Default: root. */
  readonly user?: string;
}
