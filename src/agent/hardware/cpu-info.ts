import type { Cpu } from '../../wire/codec.ts';
import { armModel, armVendor } from './arm-names.ts';
import type { Tree } from './tree.ts';

type Block = ReadonlyMap<string, string>;

/** Where a processor sits; null where nothing says so. */
interface Place {
  readonly socket: string | null;
  readonly core: string | null;
}

type Topology = (processor: string) => Place;

const NOWHERE: Topology = () => ({ socket: null, core: null });

/** One CPU per socket, from `/proc/cpuinfo`, and from sysfs where that names no sockets (arm64). */
export const readCpus = (tree: Tree): Cpu[] =>
  parseCpuInfo(tree.text('proc/cpuinfo') ?? '', (processor) => {
    const base = `sys/devices/system/cpu/cpu${processor}/topology`;
    const id = (name: string) => {
      const number = tree.number(`${base}/${name}`);
      return number === null || number < 0 ? null : String(number);
    };
    return { socket: id('physical_package_id'), core: id('core_id') };
  });

/** Reads `/proc/cpuinfo`: one CPU per socket (`physical id`), in the order they come. */
export function parseCpuInfo(text: string, topology: Topology = NOWHERE): Cpu[] {
  const sockets = new Map<string, Block[]>();
  for (const block of parseBlocks(text).filter((each) => each.has('processor'))) {
    const { socket, core } = placeOf(block, topology);
    const placed = new Map([...block, ['core id', core]]);
    sockets.set(socket, [...(sockets.get(socket) ?? []), placed]);
  }
  return Array.from(sockets.values(), describeSocket);
}

/** Where the kernel names no cores (some virtual machines) each thread is one. */
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

/** A line without colon ends a block. */
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
