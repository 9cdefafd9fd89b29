import { startServer } from '../fleet/database.ts';
import { prepareTakeovers, type TakeoverFigures } from '../fleet/takeover.ts';
import { median, rounded } from '../measure.ts';
import { scaled, textOf, type Report, type Suite, type SuiteOptions } from '../suite.ts';

/** Agent starts at once, and how many machines: 128 at most, as a server takes 16 ports and no more. */
const MACHINES = { 1: 20, 10: 100, 50: 128 } as const;
type Parallelism = keyof typeof MACHINES;
const PARALLELISMS = [1, 10, 50] as const;

/** Machines per second of the original Shepherd on such a machine, with an agent of that size. */
const ORIGINAL: Readonly<Record<Parallelism, number>> = { 1: 1.7, 10: 2.7, 50: 1.4 };

export const suite: Suite = {
  summary: 'reservation to started agent over real SSH, an agent of 5 MB uploaded to each machine',
  run: async (options) => {
    const server = await startServer();
    try {
      const machinesMax = scaled(Math.max(...Object.values(MACHINES)), options);
      const stand = await prepareTakeovers({ server, machinesMax });
      try {
        return reportOf(await measured(stand, options));
      } finally {
        await stand.close();
      }
    } finally {
      await server.close();
    }
  },
};

type Samples = Record<Parallelism, TakeoverFigures[]>;

async function measured(
  stand: Awaited<ReturnType<typeof prepareTakeovers>>,
  options: SuiteOptions,
): Promise<Samples> {
  const samples: Samples = { 1: [], 10: [], 50: [] };
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const parallelism of PARALLELISMS) {
      const figures = await stand.measure(scaled(MACHINES[parallelism], options), parallelism);
      samples[parallelism].push(figures);
      const rate = figures.machinesPerSecond.toFixed(1);
      options.progress(`round ${round}: takeover at ${parallelism}: ${rate} machines/s`);
    }
  }
  return samples;
}

function reportOf(samples: Samples): Report {
  const each = (of: (figures: TakeoverFigures, parallelism: Parallelism) => number) =>
    Object.fromEntries(
      PARALLELISMS.map((parallelism) => {
        const values = samples[parallelism].map((figures) => of(figures, parallelism));
        return [parallelism, rounded(median(values))];
      }),
    ) as Record<Parallelism, number>;
  const json = {
    takeover: each(({ machinesPerSecond }) => machinesPerSecond),
    toOriginal: each(({ machinesPerSecond }, at) => machinesPerSecond / ORIGINAL[at]),
    daemonCpuMs: each(({ daemonCpuMs }) => daemonCpuMs),
    sshdCpuMs: each(({ sshdCpuMs }) => sshdCpuMs),
    sshdShare: each(({ sshdShare }) => sshdShare),
    peers: { original: ORIGINAL },
  };
  const rows = PARALLELISMS.flatMap((at) => [
    [`takeovers over SSH, ${at} at once`, `${json.takeover[at]} machines/s`],
    ['  to those of the original', String(json.toOriginal[at])],
    ['  CPU of the daemon', `${json.daemonCpuMs[at]} ms each`],
    ['  CPU of sshd and what it ran', `${json.sshdCpuMs[at]} ms each`],
    ['  of all CPU', `${rounded(json.sshdShare[at] * 100)} %`],
  ]);
  return { json, table: textOf(rows) };
}
