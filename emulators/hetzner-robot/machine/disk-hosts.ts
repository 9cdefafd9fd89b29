/** The systems of drives that other parts of a simulator play. */
export interface DiskHosts {
  /** A system was installed, and is not booted yet. */
  reinstalled(device: string, system: InstalledSystem): Promise<void>;
  up(device: string): Promise<void>;
  down(device: string): Promise<void>;
  /** Of its last boot. */
  bootId?(device: string): string | undefined;
  isHanging?(device: string): boolean;
}
export interface InstalledSystem {
  readonly id: string;
  readonly hostname: string;
  readonly authorizedKeys: readonly string[];
  /** The script of its first boot. */
  readonly userdata: string | null;
}
