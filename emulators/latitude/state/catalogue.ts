/** A place of the vendor, as plans and servers show it. */
export interface Site {
  readonly slug: string;
  readonly city: string;
  readonly country: string;
  readonly facility: string;
}

export interface OperatingSystem {
  readonly slug: string;
  readonly name: string;
  readonly distro: string;
  readonly series: string;
  readonly version: string;
  /** Who may log in. */
  readonly user: string;
  readonly features: {
    readonly raid: boolean;
    readonly rescue: boolean;
    readonly ssh_keys: boolean;
    readonly user_data: boolean;
  };
}

const site = (slug: string, city: string, country: string): Site => ({
  ...{ slug, city, country, facility: `${city} ${slug}` },
});

export const SITES: readonly Site[] = [
  site('ASH', 'Ashburn', 'United States'),
  site('CHI', 'Chicago', 'United States'),
  site('DAL', 'Dallas', 'United States'),
  site('LAX', 'Los Angeles', 'United States'),
  site('MIA2', 'Miami', 'United States'),
  site('NYC', 'New York', 'United States'),
  site('SAO', 'São Paulo', 'Brazil'),
  site('SAO2', 'São Paulo', 'Brazil'),
  site('BGT', 'Bogotá', 'Colombia'),
  site('BUE', 'Buenos Aires', 'Argentina'),
  site('SAN3', 'Santiago', 'Chile'),
  site('MEX2', 'Mexico City', 'Mexico'),
  site('FRA', 'Frankfurt', 'Germany'),
  site('LON2', 'London', 'United Kingdom'),
  site('SYD', 'Sydney', 'Australia'),
  site('TYO', 'Tokyo', 'Japan'),
];

const ALL = { raid: true, rescue: true, ssh_keys: true, user_data: true };

const linux = (
  distro: string,
  name: string,
  user: string,
  versions: Readonly<Record<string, string>>,
): OperatingSystem[] =>
  Object.entries(versions).map(([version, series]) => ({
    slug: `${distro}_${version.replace('.', '_')}_x64${distro === 'ubuntu' ? '_lts' : ''}`,
    ...{ name, distro, series, version, user, features: ALL },
  }));

/** More than a page of them. Those of Ubuntu are the vendor's own slugs; the others are examples. */
export const OPERATING_SYSTEMS: readonly OperatingSystem[] = [
  ...linux('ubuntu', 'Ubuntu', 'ubuntu', {
    '24.04': 'noble',
    '22.04': 'jammy',
    '20.04': 'focal',
    '18.04': 'bionic',
  }),
  ...linux('debian', 'Debian', 'debian', {
    '13': 'trixie',
    '12': 'bookworm',
    '11': 'bullseye',
    '10': 'buster',
  }),
  ...linux('rockylinux', 'Rocky Linux', 'rocky', { '10': '10', '9': '9', '8': '8' }),
  ...linux('almalinux', 'AlmaLinux', 'almalinux', { '10': '10', '9': '9', '8': '8' }),
  ...linux('fedora', 'Fedora', 'fedora', { '43': '43', '42': '42', '41': '41' }),
  ...linux('centos', 'CentOS', 'centos', { '8': '8', '7.4': '7' }),
  ...linux('oracle', 'Oracle Linux', 'cloud-user', { '9': '9', '8': '8' }),
  {
    ...{ slug: 'flatcar', name: 'Flatcar', distro: 'flatcar', series: 'stable', version: '4' },
    ...{ user: 'root', features: { ...ALL, raid: false } },
  },
  {
    ...{ slug: 'windows_server_2022_std_v1', name: 'Windows', distro: 'windows', series: '2022' },
    ...{ version: '2022', user: 'Administrator' },
    features: { raid: false, rescue: false, ssh_keys: false, user_data: false },
  },
  {
    ...{ slug: 'ipxe', name: 'iPXE', distro: 'ipxe', series: 'ipxe', version: '1', user: 'root' },
    features: { raid: false, rescue: true, ssh_keys: false, user_data: true },
  },
];

export const DEFAULT_PLANS = ['c2-small-x86', 'c3-small-x86', 'c3-large-x86', 'm4-metal-large'];
export const DEFAULT_STOCK = 20;

/** As the vendor writes a plan's name: `c3.small.x86`. */
export const planName = (slug: string): string => slug.replaceAll('-', '.');

/** The same for every plan: nobody deploys by them here. */
export const SPECS = {
  cpu: { type: 'E-2276G', clock: 3.8, cores: 6, count: 1 },
  memory: { total: 64 },
  drives: [{ count: 1, size: '500 GB', type: 'SSD' }],
  nics: [{ count: 2, type: '1 Gbps' }],
  gpu: {},
};
export const SPECS_TEXT = {
  cpu: 'Xeon E-2276G CPU @ 3.80GHz (6 cores)',
  disk: '500 GB SSD',
  ram: '64 GB',
  nic: '2 X 1 Gbit/s',
};
export const PRICES = { hour: 0.22, month: 153, year: 1349 };
