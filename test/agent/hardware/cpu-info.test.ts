import { describe, expect, test } from 'vitest';
import { parseCpuInfo, readCpus } from '../../../src/agent/hardware/cpu-info.ts';
import { createTree } from '../../../src/agent/hardware/tree.ts';
import { plantTree, processor } from '../tree-fixture.ts';

const x86 = (vendor: string, model: string, family: number, number: number, stepping: number) => ({
  vendor_id: vendor,
  'cpu family': family,
  model: number,
  'model name': model,
  stepping,
  'physical id': 0,
  flags: 'fpu vme: odd',
});
const QEMU = x86('GenuineIntel', 'QEMU Virtual CPU version 2.1.0', 6, 6, 3);
const EPYC = x86('AuthenticAMD', 'AMD EPYC 7402P 24-Core Processor', 23, 49, 0);
const CORE_I9 = x86('GenuineIntel', '12th Gen Intel(R) Core(TM) i9-12900K', 6, 151, 2);

const inBlocks = (blocks: string[]) => `${blocks.join('\n\n')}\n\n`;
const threads = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('cpu', () => {
  test.each([
    ['QEMU', QEMU, [processor(0, 0, QEMU)], 1, 1],
    // Second threads come after all first threads; core ids have gaps.
    ['EPYC 7402P', EPYC, threads(48).map((n) => processor(n, ((n % 24) * 4) / 3, EPYC)), 24, 48],
    // Eight cores with two threads each, then eight with one.
    [
      'i9-12900K',
      CORE_I9,
      threads(24).map((n) => processor(n, n < 16 ? (n >> 1) * 4 : n + 16, CORE_I9)),
      16,
      24,
    ],
  ])('%s', (_name, facts, blocks, cores, hardwareThreads) => {
    expect(parseCpuInfo(inBlocks(blocks))).toEqual([
      {
        vendor: facts.vendor_id,
        model: facts['model name'],
        cores,
        hardwareThreads,
        x86_64: { family: facts['cpu family'], model: facts.model, stepping: facts.stepping },
      },
    ]);
  });

  test('counts two sockets as two', () => {
    const blocks = threads(8).map((n) =>
      processor(n, n % 2, { ...EPYC, 'physical id': n < 4 ? 0 : 1 }),
    );
    expect(parseCpuInfo(inBlocks(blocks))).toMatchObject([
      { cores: 2, hardwareThreads: 4 },
      { cores: 2, hardwareThreads: 4 },
    ]);
  });

  test('arm64: reads no core names; a block without a processor is none', () => {
    const arm = 'BogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c';
    const text = `processor\t: 0\n${arm}\n\nprocessor\t: 1\n${arm}\n\nHardware\t: Foo\n`;
    expect(parseCpuInfo(text)).toEqual([
      {
        vendor: 'ARM',
        model: 'Neoverse-N1',
        cores: 2,
        hardwareThreads: 2,
        arm64: { implementer: 0x41, variant: 0, part: 0xd0c, revision: 0 },
      },
    ]);
  });

  test('arm64: reads sockets and cores from sysfs; unknown names stay numbers', () => {
    const arm = 'CPU implementer\t: 0x99\nCPU variant\t: 0x3\nCPU part\t: 0xfff\nCPU revision\t: 1';
    const place = (cpu: number, socket: number, core: number) => ({
      [`sys/devices/system/cpu/cpu${cpu}/topology/physical_package_id`]: String(socket),
      [`sys/devices/system/cpu/cpu${cpu}/topology/core_id`]: String(core),
    });
    const root = plantTree({
      'proc/cpuinfo': threads(4)
        .map((n) => `processor\t: ${n}\n${arm}\n`)
        .join('\n'),
      ...place(0, 36, 0),
      ...place(1, 36, 0),
      ...place(2, 38, 0),
      ...place(3, 38, 1),
    });
    const arm64 = { implementer: 0x99, variant: 3, part: 0xfff, revision: 1 };
    expect(readCpus(createTree(root, []))).toEqual([
      { vendor: '0x99', model: '0xfff', cores: 1, hardwareThreads: 2, arm64 },
      { vendor: '0x99', model: '0xfff', cores: 2, hardwareThreads: 2, arm64 },
    ]);
  });

  test('reads no socket from a kernel that says -1', () => {
    const root = plantTree({
      'proc/cpuinfo': 'processor\t: 0\nCPU part\t: 0xd0c\n\nprocessor\t: 1\n',
      'sys/devices/system/cpu/cpu0/topology/physical_package_id': '-1',
    });
    expect(readCpus(createTree(root, []))).toMatchObject([{ cores: 2, hardwareThreads: 2 }]);
  });
});
