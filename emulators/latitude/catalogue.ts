/** A site of the vendor, as servers show it. */
export interface Site {
  readonly slug: string;
  readonly city: string;
  readonly country: string;
}

export const SITES: readonly Site[] = [
  { slug: 'ASH', city: 'Ashburn', country: 'United States' },
  { slug: 'NYC', city: 'New York', country: 'United States' },
  { slug: 'SAO', city: 'São Paulo', country: 'Brazil' },
  { slug: 'SAN3', city: 'Santiago', country: 'Chile' },
  { slug: 'FRA', city: 'Frankfurt', country: 'Germany' },
  { slug: 'TYO', city: 'Tokyo', country: 'Japan' },
];

export interface OperatingSystem {
  readonly slug: string;
  readonly name: string;
  readonly distro: string;
  readonly series: string;
  readonly version: string;
  /** Login user. */
  readonly user: string;
  readonly features: {
    readonly raid: boolean;
    readonly rescue: boolean;
    readonly ssh_keys: boolean;
    readonly user_data: boolean;
  };
}

const linux = (name: string, version: string, series: string): OperatingSystem => {
  const distro = name.toLowerCase();
  return {
    slug: `${distro}_${version.replace('.', '_')}_x64${distro === 'ubuntu' ? '_lts' : ''}`,
    ...{ name, distro, series, version, user: distro },
    features: { raid: true, rescue: true, ssh_keys: true, user_data: true },
  };
};

/** The Ubuntu slugs are the vendor's own; the others are examples. */
export const OPERATING_SYSTEMS: readonly OperatingSystem[] = [
  linux('Ubuntu', '24.04', 'noble'),
  linux('Ubuntu', '22.04', 'jammy'),
  linux('Debian', '12', 'bookworm'),
  {
    ...{ slug: 'ipxe', name: 'iPXE', distro: 'ipxe', series: 'ipxe', version: '1', user: 'root' },
    features: { raid: false, rescue: true, ssh_keys: false, user_data: true },
  },
];

export const DEFAULT_PLANS = ['c2-small-x86', 'c3-small-x86', 'c3-large-x86', 'm4-metal-large'];
export const DEFAULT_STOCK = 20;
