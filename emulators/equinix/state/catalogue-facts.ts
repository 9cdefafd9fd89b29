/** What is told of a plan beside its name; amounts as the service writes them. */
export interface PlanFacts {
  readonly cpus: readonly { readonly count: number; readonly type: string }[];
  readonly memory: string;
  readonly drives: readonly Drive[];
  readonly nics: readonly { readonly count: number; readonly type: string }[];
  /** US dollars an hour. */
  readonly hourPrice: number;
}
interface Drive {
  readonly count: number;
  readonly size: string;
  readonly type: 'SSD' | 'NVME' | 'HDD';
  readonly category: 'boot' | 'storage' | 'cache';
}

const boot = (count: number, size: string): Drive => ({
  count,
  size,
  type: 'SSD',
  category: 'boot',
});
const machine = (
  cpu: readonly [count: number, type: string],
  memory: string,
  drives: readonly Drive[],
  [speed, hourPrice]: readonly [speed: string, hourPrice: number],
): PlanFacts => ({
  cpus: [{ count: cpu[0], type: cpu[1] }],
  memory,
  drives,
  nics: [{ count: 2, type: speed }],
  hourPrice,
});

/** The plans of the standard catalogue, as the service sold them in 2024. */
const PLANS: ReadonlyMap<string, PlanFacts> = new Map([
  [
    'm3.large.x86',
    machine(
      [1, 'AMD EPYC 7502P'],
      '256GB',
      [boot(2, '240GB'), { count: 2, size: '3.8TB', type: 'NVME', category: 'storage' }],
      ['25Gbps', 3.1],
    ),
  ],
  [
    'c3.small.x86',
    machine([1, 'Intel Xeon E-2278G'], '32GB', [boot(2, '480GB')], ['10Gbps', 0.75]),
  ],
  [
    'c3.medium.x86',
    machine(
      [1, 'AMD EPYC 7402P'],
      '64GB',
      [boot(2, '240GB'), { count: 2, size: '480GB', type: 'SSD', category: 'storage' }],
      ['10Gbps', 1.5],
    ),
  ],
  [
    'm3.small.x86',
    machine([1, 'Intel Xeon E-2378G'], '64GB', [boot(2, '480GB')], ['25Gbps', 1.05]),
  ],
  [
    's3.xlarge.x86',
    machine(
      [2, 'Intel Xeon Silver 4214'],
      '192GB',
      [boot(2, '240GB'), { count: 12, size: '8TB', type: 'HDD', category: 'storage' }],
      ['10Gbps', 2.95],
    ),
  ],
]);
const UNKNOWN_PLAN = machine([1, 'x86'], '64GB', [boot(2, '480GB')], ['10Gbps', 1]);

export const planFactsOf = (slug: string): PlanFacts => PLANS.get(slug) ?? UNKNOWN_PLAN;

/** What is told of an operating system beside its name. */
export interface SystemFacts {
  readonly distro: string;
  readonly distroLabel: string;
  readonly version: string;
  /** Of the distribution, `YYYY-MM-DD`. */
  readonly releaseDate?: string;
}

const RELEASES: ReadonlyMap<string, string> = new Map([
  ['ubuntu_20_04', '2020-04-23'],
  ['ubuntu_22_04', '2022-04-21'],
  ['ubuntu_24_04', '2024-04-25'],
  ['debian_11', '2021-08-14'],
  ['debian_12', '2023-06-10'],
  ['rocky_9', '2022-07-14'],
]);

/** A slug is a distribution and its version: `ubuntu_22_04`. */
export function systemFactsOf(slug: string): SystemFacts {
  const [, distro = slug, version = ''] = /^([a-z]+)_(\d[\d_]*)$/.exec(slug) ?? [];
  const releaseDate = RELEASES.get(slug);
  return {
    distro,
    distroLabel: distro.charAt(0).toUpperCase() + distro.slice(1),
    version: version.replaceAll('_', '.'),
    ...(releaseDate !== undefined && { releaseDate }),
  };
}
