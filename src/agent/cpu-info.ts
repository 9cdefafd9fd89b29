import type { Cpu } from '../wire/codec.ts';

type Block = ReadonlyMap<string, string>;

/** Implementers of arm64 cores, by the number that the kernel shows. */
const ARM_IMPLEMENTERS: Readonly<Record<string, string>> = {
  '0x41': 'ARM',
  '0x46': 'Fujitsu',
  '0x48': 'HiSilicon',
  '0x4e': 'NVIDIA',
  '0x51': 'Qualcomm',
  '0x61': 'Apple',
  '0xc0': 'Ampere',
};

/** Reads `/proc/cpuinfo`: one CPU per socket (`physical id`), in the order they come. */
export function parseCpuInfo(text: string): Cpu[] {
  const sockets = new Map<string, Block[]>();
  for (const block of parseBlocks(text).filter((each) => each.has('processor'))) {
    const socket = block.get('physical id') ?? '0';
    sockets.set(socket, [...(sockets.get(socket) ?? []), block]);
  }
  return Array.from(sockets.values(), describeSocket);
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
  const threads = new Set(blocks.map((block) => block.get('processor')));
  // Where the kernel names no cores (arm64, some virtual machines) each thread is one.
  const cores = new Set(blocks.map((block) => block.get('core id') ?? block.get('processor')));
  const implementer = first.get('CPU implementer') ?? '';
  return {
    vendor: first.get('vendor_id') ?? ARM_IMPLEMENTERS[implementer] ?? implementer,
    model: first.get('model name') ?? first.get('CPU part') ?? '',
    cores: cores.size,
    hardwareThreads: threads.size,
    ...(first.has('cpu family') ? { x86_64: describeX86(first) } : {}),
  };
}

function describeX86(block: Block) {
  const field = (name: string) => Number.parseInt(block.get(name) ?? '0', 10) || 0;
  return { family: field('cpu family'), model: field('model'), stepping: field('stepping') };
}
