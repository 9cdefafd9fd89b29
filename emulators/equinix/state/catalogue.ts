import { createHash } from 'node:crypto';

/** Things the service sells. They do not change while it runs; ids follow from the code. */
export interface Plan {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
}
export interface OperatingSystem {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
}
export interface Metro {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly country: string;
}
export interface Facility {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly metro: string;
}
export interface Catalogue {
  readonly plans: readonly Plan[];
  readonly operatingSystems: readonly OperatingSystem[];
  readonly metros: readonly Metro[];
  readonly facilities: readonly Facility[];
}

/** A UUID that depends on the name alone: the same in every world and after every restart. */
export function stableId(name: string): string {
  const digest = createHash('sha1').update(name).digest('hex');
  const groups = [digest.slice(0, 8), digest.slice(8, 12), `5${digest.slice(13, 16)}`];
  return [...groups, `8${digest.slice(17, 20)}`, digest.slice(20, 32)].join('-');
}

/** The plan and facility of a reservation that names none. */
export const DEFAULT_PLAN = 'm3.large.x86';
/** Where numbered reservations stand, in turn: mostly one facility, a few elsewhere. */
export const DEFAULT_FACILITIES = ['fr2', 'fr2', 'fr2', 'fr2', 'am6', 'sv15'] as const;
export const DEFAULT_OPERATING_SYSTEM = 'ubuntu_24_04';

const plan = (slug: string): Plan => ({ id: stableId(`plan ${slug}`), slug, name: slug });
const system = (slug: string, name: string): OperatingSystem => ({
  id: stableId(`operating system ${slug}`),
  slug,
  name,
});
const metro = (code: string, name: string, country: string): Metro => ({
  id: stableId(`metro ${code}`),
  code,
  name,
  country,
});
const facility = (code: string, name: string, metroCode: string): Facility => ({
  id: stableId(`facility ${code}`),
  code,
  name,
  metro: metroCode,
});

export const standardCatalogue: Catalogue = {
  plans: [DEFAULT_PLAN, 'c3.small.x86', 'c3.medium.x86', 'm3.small.x86', 's3.xlarge.x86'].map(plan),
  operatingSystems: [
    system('ubuntu_20_04', 'Ubuntu 20.04 LTS'),
    system('ubuntu_22_04', 'Ubuntu 22.04 LTS'),
    system('ubuntu_24_04', 'Ubuntu 24.04 LTS'),
    system('debian_11', 'Debian 11'),
    system('debian_12', 'Debian 12'),
    system('rocky_9', 'Rocky Linux 9'),
    system('custom_ipxe', 'Custom iPXE'),
  ],
  metros: [
    metro('fr', 'Frankfurt', 'DE'),
    metro('am', 'Amsterdam', 'NL'),
    metro('sv', 'Silicon Valley', 'US'),
    metro('ny', 'New York', 'US'),
  ],
  facilities: [
    facility('fr2', 'Frankfurt 2', 'fr'),
    facility('am6', 'Amsterdam 6', 'am'),
    facility('sv15', 'Silicon Valley 15', 'sv'),
    facility('ny5', 'New York 5', 'ny'),
  ],
};

/** The catalogue with the world's own entries; one with a known slug or code replaces it. */
export function extendCatalogue(additions: {
  plans: readonly { slug: string; name?: string | undefined }[];
  operatingSystems: readonly { slug: string; name?: string | undefined }[];
  metros: readonly { code: string; name?: string | undefined; country?: string | undefined }[];
  facilities: readonly { code: string; metro: string; name?: string | undefined }[];
}): Catalogue {
  const base = standardCatalogue;
  return {
    plans: merge(
      base.plans,
      'slug',
      additions.plans.map((p) => ({ ...plan(p.slug), name: p.name ?? p.slug })),
    ),
    operatingSystems: merge(
      base.operatingSystems,
      'slug',
      additions.operatingSystems.map((s) => system(s.slug, s.name ?? s.slug)),
    ),
    metros: merge(
      base.metros,
      'code',
      additions.metros.map((m) => metro(m.code, m.name ?? m.code, m.country ?? 'US')),
    ),
    facilities: merge(
      base.facilities,
      'code',
      additions.facilities.map((f) => facility(f.code, f.name ?? f.code, f.metro)),
    ),
  };
}

function merge<K extends string, T extends Readonly<Record<K, string>>>(
  base: readonly T[],
  key: K,
  own: readonly T[],
): T[] {
  const replaced = new Set(own.map((item) => item[key]));
  return [...base.filter((item) => !replaced.has(item[key])), ...own];
}
