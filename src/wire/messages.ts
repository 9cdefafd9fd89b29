// Generated from `proto/` by `npm run proto`. Changes belong there.

/** What the takeover reads from its standard input. */
export interface TakeoverInit {
  /** UUID of the machine, as the agent will report it. */
  readonly machineId?: string | null;
  /** host:port of the agent callback service. */
  readonly bmaasEndpoint?: string | null;
  /** DER X.509 certificate that signs the callback service's; empty means the system's roots. */
  readonly caCertificate?: Uint8Array | null;
  /** The system that runs there is nobody's: once the agent has installed an image it may reboot the machine, when the server tells it to. Otherwise it never does. */
  readonly throwAway?: boolean | null;
}

export interface TakeoverSuccess {
  /** The message that was read, so that the caller can see it arrived whole. */
  readonly initMessage?: TakeoverInit | null;
  /** Raw Ed25519 public key of the agent, 32 bytes. */
  readonly key?: Uint8Array | null;
  /** Partial problems; none of them kept the agent from starting. */
  readonly warning?: readonly string[] | null;
}

export interface TakeoverError {
  readonly message?: string | null;
}

/** All that the takeover writes to its standard output. */
export interface TakeoverResponse {
  readonly success?: TakeoverSuccess | null;
  readonly error?: TakeoverError | null;
  readonly result?: 'success' | 'error';
}

/** From the takeover to the agent it starts; never on the network. */
export interface AgentInit {
  readonly takeoverInit?: TakeoverInit | null;
  /** Ed25519 private key, 64 bytes: seed, then public key. */
  readonly privateKey?: Uint8Array | null;
  readonly networkConfig?: Net | null;
}

/** What the hardware of a machine is. */
export interface Node {
  readonly manufacturer?: string | null;
  readonly product?: string | null;
  readonly serialNumber?: string | null;
  readonly memoryInstalledBytes?: bigint | null;
  /** Usable by the system, as a share of what is installed; absent (0) when that is not known. */
  readonly memoryUsableRatio?: number | null;
  /** One per socket. */
  readonly cpu?: readonly CPU[] | null;
  readonly blockDevice?: readonly BlockDevice[] | null;
  readonly networkInterface?: readonly NetworkInterface[] | null;
  readonly efiSupport?: number | null;
}

export interface CPU {
  readonly x86_64?: CPU_X86_64 | null;
  readonly arm64?: CPU_ARM64 | null;
  readonly cores?: number | null;
  readonly hardwareThreads?: number | null;
  readonly vendor?: string | null;
  readonly model?: string | null;
  readonly architecture?: 'x86_64' | 'arm64';
}

export interface CPU_X86_64 {
  readonly family?: number | null;
  readonly model?: number | null;
  readonly stepping?: number | null;
}

export interface CPU_ARM64 {
  readonly implementer?: number | null;
  readonly variant?: number | null;
  readonly part?: number | null;
  readonly revision?: number | null;
}

export interface BlockDevice {
  readonly vendor?: string | null;
  readonly deviceModel?: string | null;
  readonly serialNumber?: string | null;
  readonly wwn?: Uint8Array | null;
  readonly rotational?: boolean | null;
  readonly capacityBytes?: bigint | null;
  readonly logicalBlockSizeBytes?: number | null;
  readonly physicalBlockSizeBytes?: number | null;
  readonly protocol?: number | null;
  readonly criticalWarning?: boolean | null;
  readonly mediaErrors?: bigint | null;
  readonly availableSpareRatio?: number | null;
  readonly usageRatio?: number | null;
  /** Kernel name, such as vda; what an installation request calls its root device. */
  readonly name?: string | null;
  /** Stable names below /dev/disk/by-id. */
  readonly byId?: readonly string[] | null;
}

export const BlockDevice_Protocol = {
  PROTOCOL_UNKNOWN: 0,
  PROTOCOL_SCSI: 1,
  PROTOCOL_ATA: 2,
  PROTOCOL_NVME: 3,
  PROTOCOL_MMC: 4,
} as const;

export interface NetworkInterface {
  /** 6 bytes. */
  readonly mac?: Uint8Array | null;
  readonly driver?: string | null;
  /** Bytes per second, descending. */
  readonly supportedSpeedBytes?: readonly bigint[] | null;
  readonly linkUp?: boolean | null;
  /** Bytes per second; 0 when not known. */
  readonly currentSpeedBytes?: bigint | null;
  /** Kernel name, such as eth0. */
  readonly name?: string | null;
}

export const EFISupport = {
  EFI_SUPPORT_INVALID: 0,
  EFI_SUPPORT_UNKNOWN: 1,
  EFI_SUPPORT_UNSUPPORTED: 2,
  EFI_SUPPORT_SUPPORTED: 3,
  EFI_SUPPORT_ENABLED: 4,
} as const;

export const AgentPhase = {
  AGENT_PHASE_IDLE: 0,
  AGENT_PHASE_INSTALLING: 1,
  AGENT_PHASE_REPORTING: 2,
} as const;

export interface HeartbeatRequest {
  readonly machineId?: string | null;
  readonly hardwareReport?: AgentHardwareReport | null;
  readonly installationReport?: OSInstallationReport | null;
  /** Kernel's boot id: a changed one is evidence of a reboot. */
  readonly bootId?: string | null;
  readonly agentVersion?: string | null;
  readonly phase?: number | null;
  /** Since the machine's boot. */
  readonly uptimeSeconds?: bigint | null;
  /** An absent type is not known, or has not changed. */
  readonly condition?: readonly Condition[] | null;
  /** The result of the acceptance that the server asked for. */
  readonly acceptance?: AcceptanceResult | null;
}

/** What a machine should have. 0 and absent: not checked. */
export interface AcceptanceProfile {
  readonly memoryGib?: number | null;
  /** Hardware threads. */
  readonly cpus?: number | null;
  readonly disks?: readonly AcceptanceProfile_Disks[] | null;
  readonly networkMbps?: number | null;
  /** Of a sequential read of each disk, 10^6 bytes per second. */
  readonly readMegabytes?: number | null;
}

export interface AcceptanceProfile_Disks {
  /** 10^9 bytes. */
  readonly sizeGb?: number | null;
  readonly count?: number | null;
}

/** Asks for checks. They only read, but for a temporary file. */
export interface AcceptanceRequest {
  /** Names the request in its result. */
  readonly id?: bigint | null;
  readonly profile?: AcceptanceProfile | null;
}

export interface AcceptanceResult {
  readonly id?: bigint | null;
  readonly check?: readonly AcceptanceResult_Check[] | null;
  /** What the machine has. */
  readonly found?: AcceptanceProfile | null;
}

export interface AcceptanceResult_Check {
  readonly name?: string | null;
  /** Empty: nothing is expected. */
  readonly expected?: string | null;
  readonly found?: string | null;
  readonly status?: number | null;
}

export const AcceptanceResult_Check_Status = {
  STATUS_UNKNOWN: 0,
  STATUS_OK: 1,
  STATUS_FAILED: 2,
} as const;

/** What is wrong with the machine, or no longer is. */
export interface Condition {
  readonly type?: string | null;
  readonly status?: number | null;
  /** One line. */
  readonly reason?: string | null;
  readonly detail?: string | null;
}

export const Condition_Status = { STATUS_UNKNOWN: 0, STATUS_TRUE: 1, STATUS_FALSE: 2 } as const;

export interface HeartbeatResponse {
  readonly installationRequest?: OSInstallationRequest | null;
  /** The period to report in from now on; 0 leaves it as it is. */
  readonly heartbeatIntervalSeconds?: bigint | null;
  /** Asks for the hardware report with the next heartbeat. */
  readonly sendHardwareReport?: boolean | null;
  /** The success that was reported counts: the machine is to be rebooted into what was installed. */
  readonly reboot?: boolean | null;
  /** Time of the heartbeat by the clock of the database, milliseconds since 1970; 0: not told. */
  readonly clockMs?: bigint | null;
  /** Until its result was received. */
  readonly acceptance?: AcceptanceRequest | null;
}

export interface AgentHardwareReport {
  readonly report?: Node | null;
  /** Problems met while the report was made. */
  readonly warning?: readonly string[] | null;
}

export interface OSInstallationReport {
  /** Of the request that this is the result of. */
  readonly generation?: bigint | null;
  readonly success?: OSInstallationReport_Success | null;
  readonly error?: OSInstallationReport_Error | null;
  readonly result?: 'success' | 'error';
}

export type OSInstallationReport_Success = Readonly<Record<string, never>>;

export interface OSInstallationReport_Error {
  readonly error?: string | null;
}

export interface OSInstallationRequest {
  readonly generation?: bigint | null;
  readonly metropolis?: MetropolisInstallationRequest | null;
  readonly genericImage?: GenericImageInstallation | null;
  readonly type?: 'metropolis' | 'genericImage';
}

export interface MetropolisInstallationRequest {
  readonly nodeParameters?: NodeParameters | null;
  /** Kernel name, such as vda. */
  readonly rootDevice?: string | null;
  readonly osImage?: OSImageRef | null;
}

/** Which disk becomes the root device; exactly one is set. It must fit exactly one disk. */
export interface RootDeviceSelector {
  /** Kernel name, such as vda. */
  readonly name?: string | null;
  readonly serial?: string | null;
  readonly wwn?: Uint8Array | null;
  readonly by?: 'name' | 'serial' | 'wwn';
}

/** Writes one disk image to one disk. */
export interface GenericImageInstallation {
  /** http or https. */
  readonly imageUrl?: string | null;
  /** Of the image as it lies on the disk, that is decompressed; 32 bytes. */
  readonly sha256?: Uint8Array | null;
  /** How the image is packed where it is fetched from. */
  readonly compression?: number | null;
  readonly rootDevice?: RootDeviceSelector | null;
  /** For the image's cloud-init; absent for none. */
  readonly cloudInit?: Uint8Array | null;
}

export const GenericImageInstallation_Compression = {
  COMPRESSION_NONE: 0,
  COMPRESSION_GZIP: 1,
  COMPRESSION_ZSTD: 2,
  COMPRESSION_XZ: 3,
} as const;

/** Static network configuration of a machine. */
export interface Net {
  readonly interface?: readonly Interface[] | null;
  readonly nameserver?: readonly Nameserver[] | null;
}

export interface Nameserver {
  readonly ip?: string | null;
}

export interface Interface {
  readonly name?: string | null;
  readonly device?: Uint8Array | null;
  readonly bond?: Uint8Array | null;
  readonly vlan?: Uint8Array | null;
  readonly ipv4Autoconfig?: IPv4Autoconfig | null;
  readonly ipv6Autoconfig?: IPv6Autoconfig | null;
  /** CIDR notation. */
  readonly address?: readonly string[] | null;
  readonly mtu?: number | null;
  readonly route?: readonly Route[] | null;
  readonly type?: 'device' | 'bond' | 'vlan';
}

export type IPv4Autoconfig = Readonly<Record<string, never>>;

export interface IPv6Autoconfig {
  readonly privacy?: number | null;
}

export const IPv6Autoconfig_Privacy = { DISABLE: 0, AVOID: 1, PREFER: 2 } as const;

export interface Route {
  readonly destination?: string | null;
  readonly gatewayIp?: string | null;
  readonly sourceIp?: string | null;
  readonly metric?: number | null;
}

/** An operating system image in an OCI registry. */
export interface OSImageRef {
  /** http or https. */
  readonly scheme?: string | null;
  /** Port optional. */
  readonly host?: string | null;
  readonly repository?: string | null;
  /** Optional. */
  readonly tag?: string | null;
  /** Required. */
  readonly digest?: string | null;
}

export interface NodeParameters {
  readonly clusterBootstrap?: Uint8Array | null;
  readonly clusterRegister?: Uint8Array | null;
  readonly networkConfig?: Net | null;
  readonly cluster?: 'clusterBootstrap' | 'clusterRegister';
}
