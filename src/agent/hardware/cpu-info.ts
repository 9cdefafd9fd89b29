import type { Cpu } from '../../wire/codec.ts';
import type { Tree } from './tree.ts';

type Block = ReadonlyMap<string, string>;

/** Position of a processor; null: unknown. */
interface Place {
  readonly socket: string | null;
  readonly core: string | null;
}

type Topology = (processor: string) => Place;

const NOWHERE: Topology = () => ({ socket: null, core: null });

/** One CPU per socket, from `/proc/cpuinfo`, and from sysfs if that has no sockets (arm64). */
export const readCpus = (tree: Tree): Cpu[] =>
  parseCpuInfo(tree.text('proc/cpuinfo') ?? '', (processor) => {
    const base = `sys/devices/system/cpu/cpu${processor}/topology`;
    const id = (name: string) => {
      const number = tree.number(`${base}/${name}`);
      return number === null || number < 0 ? null : String(number);
    };
    return { socket: id('physical_package_id'), core: id('core_id') };
  });

/** Parses `/proc/cpuinfo`: one CPU per socket (`physical id`), in file order. */
export function parseCpuInfo(text: string, topology: Topology = NOWHERE): Cpu[] {
  const sockets = new Map<string, Block[]>();
  for (const block of parseBlocks(text).filter((each) => each.has('processor'))) {
    const { socket, core } = placeOf(block, topology);
    const placed = new Map([...block, ['core id', core]]);
    sockets.set(socket, [...(sockets.get(socket) ?? []), placed]);
  }
  return Array.from(sockets.values(), describeSocket);
}

/** If the kernel names no cores (some virtual machines), each thread counts as one. */
function placeOf(block: Block, topology: Topology): { socket: string; core: string } {
  const processor = block.get('processor')!;
  const [socket, core] = [block.get('physical id'), block.get('core id')];
  if (socket !== undefined && core !== undefined) return { socket, core };
  const place = topology(processor);
  return {
    socket: socket ?? place.socket ?? '0',
    core: core ?? place.core ?? `thread ${processor}`,
  };
}

/** A line without a colon ends a block. */
function parseBlocks(text: string): Block[] {
  const blocks: Map<string, string>[] = [new Map()];
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    if (colon < 0) blocks.push(new Map());
    else blocks.at(-1)!.set(line.slice(0, colon).trim(), line.slice(colon + 1).trim());
  }
  return blocks;
}

function describeSocket(blocks: readonly Block[]): Cpu {
  const [first = new Map<string, string>()] = blocks;
  const distinct = (name: string) => new Set(blocks.map((block) => block.get(name))).size;
  const counts = { cores: distinct('core id'), hardwareThreads: distinct('processor') };
  if (first.has('CPU implementer')) return { ...counts, ...describeArm(first) };
  return {
    ...counts,
    vendor: first.get('vendor_id') ?? '',
    model: first.get('model name') ?? first.get('cpu') ?? '',
    ...(first.has('cpu family') ? { x86_64: describeX86(first) } : {}),
  };
}

const field = (block: Block, name: string) => Number.parseInt(block.get(name) ?? '0') || 0;

const describeX86 = (block: Block) => ({
  family: field(block, 'cpu family'),
  model: field(block, 'model'),
  stepping: field(block, 'stepping'),
});

function describeArm(block: Block): Cpu {
  const [implementer, part] = [field(block, 'CPU implementer'), field(block, 'CPU part')];
  return {
    vendor: armVendor(implementer),
    model: block.get('model name') ?? armModel(implementer, part),
    arm64: {
      implementer,
      variant: field(block, 'CPU variant'),
      part,
      revision: field(block, 'CPU revision'),
    },
  };
}

/** Makers of arm64 cores, by the number in their main id register. */
const IMPLEMENTERS = new Map([
  [0x41, 'ARM'],
  [0x42, 'Broadcom'],
  [0x43, 'Cavium'],
  [0x46, 'Fujitsu'],
  [0x48, 'HiSilicon'],
  [0x4e, 'NVIDIA'],
  [0x50, 'APM'],
  [0x51, 'Qualcomm'],
  [0x61, 'Apple'],
  [0x6d, 'Microsoft'],
  [0xc0, 'Ampere'],
]);

/** Cores in servers, by implementer and part. */
const PARTS = new Map([
  ['41 d03', 'Cortex-A53'],
  ['41 d08', 'Cortex-A72'],
  ['41 d0b', 'Cortex-A76'],
  ['41 d0c', 'Neoverse-N1'],
  ['41 d40', 'Neoverse-V1'],
  ['41 d49', 'Neoverse-N2'],
  ['41 d4f', 'Neoverse-V2'],
  ['41 d8e', 'Neoverse-N3'],
  ['43 af', 'ThunderX2'],
  ['46 1', 'A64FX'],
  ['48 d01', 'TaiShan v110'],
  ['4e 4', 'Carmel'],
  ['c0 ac3', 'Ampere-1'],
  ['c0 ac4', 'Ampere-1a'],
]);

const hex = (number: number) => number.toString(16);

/** The maker's name, or its number if unknown. */
export const armVendor = (implementer: number): string =>
  IMPLEMENTERS.get(implementer) ?? `0x${hex(implementer)}`;

/** The core's name, or its part number if unknown. */
export const armModel = (implementer: number, part: number): string =>
  PARTS.get(`${hex(implementer)} ${hex(part)}`) ?? `0x${hex(part)}`;
