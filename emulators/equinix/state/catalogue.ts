import { createHash } from 'node:crypto';

/** The service's catalogue. It does not change at run time; ids follow from the code. */
export interface Article {
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
  readonly plans: readonly Article[];
  readonly operatingSystems: readonly Article[];
  readonly metros: readonly Metro[];
  readonly facilities: readonly Facility[];
}

/** A UUID from the name alone: equal in every world and after every restart. */
export function stableId(name: string): string {
  const digest = createHash('sha1').update(name).digest('hex');
  const groups = [digest.slice(0, 8), digest.slice(8, 12), `5${digest.slice(13, 16)}`];
  return [...groups, `8${digest.slice(17, 20)}`, digest.slice(20, 32)].join('-');
}

/** Default of reservations and devices. */
export const DEFAULT_PLAN = 'm3.large.x86';
export const DEFAULT_OPERATING_SYSTEM = 'ubuntu_24_04';
/** Facilities of numbered reservations, in turn: mostly one facility, a few elsewhere. */
export const DEFAULT_FACILITIES = ['fr2', 'fr2', 'fr2', 'fr2', 'am6', 'sv15'] as const;

const plan = (slug: string, name = slug): Article => ({ id: stableId(`plan ${slug}`), slug, name });
const system = (slug: string, name = slug): Article => ({
  id: stableId(`operating system ${slug}`),
  slug,
  name,
});
const metro = (code: string, name = code, country = 'US'): Metro => ({
  id: stableId(`metro ${code}`),
  code,
  name,
  country,
});
const facility = (code: string, metroCode: string, name = code): Facility => ({
  id: stableId(`facility ${code}`),
  code,
  name,
  metro: metroCode,
});

/** A world's additions to the catalogue. */
export interface Additions {
  readonly plans?: readonly { slug: string; name?: string | undefined }[] | undefined;
  readonly operatingSystems?: readonly { slug: string; name?: string | undefined }[] | undefined;
  readonly metros?: readonly { code: string; name?: string | undefined }[] | undefined;
  readonly facilities?:
    | readonly { code: string; metro: string; name?: string | undefined }[]
    | undefined;
}

/**
 * The catalogue with a world's additions; an entry with a known slug or code replaces that entry.
 */
export const catalogueWith = (own: Additions): Catalogue => ({
  plans: merged('slug', [
    ...[DEFAULT_PLAN, 'c3.small.x86', 'c3.medium.x86'].map((slug) => plan(slug)),
    ...(own.plans ?? []).map(({ slug, name }) => plan(slug, name)),
  ]),
  operatingSystems: merged('slug', [
    system('ubuntu_22_04', 'Ubuntu 22.04 LTS'),
    system(DEFAULT_OPERATING_SYSTEM, 'Ubuntu 24.04 LTS'),
    system('debian_12', 'Debian 12'),
    ...(own.operatingSystems ?? []).map(({ slug, name }) => system(slug, name)),
  ]),
  metros: merged('code', [
    metro('fr', 'Frankfurt', 'DE'),
    metro('am', 'Amsterdam', 'NL'),
    metro('sv', 'Silicon Valley'),
    ...(own.metros ?? []).map(({ code, name }) => metro(code, name)),
  ]),
  facilities: merged('code', [
    facility('fr2', 'fr', 'Frankfurt 2'),
    facility('am6', 'am', 'Amsterdam 6'),
    facility('sv15', 'sv', 'Silicon Valley 15'),
    ...(own.facilities ?? []).map((one) => facility(one.code, one.metro, one.name)),
  ]),
});

const merged = <K extends string, T extends Readonly<Record<K, string>>>(
  key: K,
  all: readonly T[],
): T[] => [...new Map(all.map((one) => [one[key], one])).values()];
