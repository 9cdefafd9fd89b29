import fc from 'fast-check';
import type {
  BlockDevice,
  AcceptanceResult,
  Condition,
  Cpu,
  HeartbeatRequest,
  TakeoverInit,
} from '../../src/wire/codec.ts';

/** Values other than the default: a default is not written, so it would not return. */
const text = fc.string({ minLength: 1, unit: 'binary' });
const bytes = fc.uint8Array({ minLength: 1, maxLength: 64 }).map((data) => Buffer.from(data));
const long = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).filter((value) => value !== 0n);
const int = fc.integer({ min: 1, max: 2 ** 31 - 1 });
const some = <Value>(model: { [Key in keyof Value]: fc.Arbitrary<Value[Key]> }) =>
  fc.record(model, { requiredKeys: [] });

export const takeoverInits: fc.Arbitrary<TakeoverInit> = some({
  machineId: text,
  bmaasEndpoint: text,
  caCertificate: bytes,
});

const cpus: fc.Arbitrary<Cpu> = some({
  vendor: text,
  cores: int,
  x86_64: some({ family: int, model: int, stepping: int }),
}).map((cpu) => (cpu.x86_64 ? { ...cpu, architecture: 'x86_64' as const } : cpu));

const disks: fc.Arbitrary<BlockDevice> = fc.record(
  {
    name: text,
    wwn: bytes,
    capacityBytes: long,
    // Optional in the wire format: 0 differs from absent.
    mediaErrors: fc.oneof(long, fc.constant(0n)),
    usageRatio: fc.constantFrom(0, 0.5, 2),
    protocol: fc.constantFrom(1, 2, 3, 4),
    byId: fc.array(text),
  },
  { requiredKeys: ['byId'] },
);

const nodes = fc.record(
  {
    manufacturer: text,
    memoryInstalledBytes: long,
    cpu: fc.array(cpus),
    blockDevice: fc.array(disks),
    networkInterface: fc.constant([]),
    efiSupport: fc.constantFrom(1, 2, 3, 4),
  },
  { requiredKeys: ['cpu', 'blockDevice', 'networkInterface'] },
);

const installationReports = fc.oneof(
  fc.record({
    generation: long,
    success: fc.constant({}),
    result: fc.constant('success' as const),
  }),
  fc.record({
    generation: long,
    error: fc.record({ error: text }),
    result: fc.constant('error' as const),
  }),
);

const conditions: fc.Arbitrary<Condition> = some({
  ...{ type: text, reason: text, detail: text },
  status: fc.constantFrom(1, 2),
});

const acceptances: fc.Arbitrary<AcceptanceResult> = fc.record({
  id: long,
  check: fc.array(some({ name: text, expected: text, found: text, status: fc.constantFrom(1, 2) })),
});

export const heartbeatRequests: fc.Arbitrary<HeartbeatRequest> = some({
  machineId: text,
  hardwareReport: fc.record({ report: nodes, warning: fc.array(text) }),
  installationReport: installationReports,
  bootId: text,
  agentVersion: text,
  phase: fc.constantFrom(1, 2),
  uptimeSeconds: long,
  condition: fc.array(conditions),
  acceptance: acceptances,
});
