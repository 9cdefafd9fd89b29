/**
 * How an emulator moves the simulated machines behind its devices. Without hooks its devices exist
 * on paper only. Calls for one device run one after another; an error is logged and changes
 * nothing.
 */
export interface MachineHooks {
  /**
   * Assigns the device's addresses. @returns the listening address; the port stays the same for the
   * device's life. Published as the device's public management IPv4 address and as
   * `customdata.ssh_port`.
   */
  assign(device: SimulatedDevice): Promise<{ address: string; sshPort: number }>;
  /** The machine has booted its (throw-away) operating system: SSH answers from now on. */
  up(deviceId: string): Promise<void>;
  /** Power loss or reboot: all programs die, and SSH closes. */
  down(deviceId: string): Promise<void>;
  /**
   * A new operating system was installed while down: empty disk, new host key. Its first boot reads
   * the present user data.
   */
  reinstalled(deviceId: string, device: SimulatedDevice): Promise<void>;
  /** The device was deleted: releases its disk and port. */
  gone(deviceId: string): Promise<void>;
}

export interface SimulatedDevice {
  readonly id: string;
  readonly hostname: string;
  /** `authorized_keys` lines of accepted keys. */
  readonly authorizedKeys: readonly string[];
  /** Input of the first boot: a script with `#!`, or a configuration with `#cloud-config`. */
  readonly userdata?: string | null;
  /** Login user. Default: root. */
  readonly user?: string;
}
