import { canonicalAddress, familyOf } from '../domain/balancing/pools.ts';
import { uidOf } from './pool-schema.ts';

/** A conflict between pools, or with other sections; the message names the other place. */
export interface PoolFault {
  readonly path: readonly string[];
  readonly message: string;
}

/**
 * All conflicts between pools, and references to missing sections. Ignores invalid sections, which
 * have their own messages.
 */
export function poolFaults(value: unknown): readonly PoolFault[] {
  const { fleet, balancers, pools, providers } = section(value);
  const known = readPools(section(pools), typeof fleet === 'string' ? fleet : '');
  const pairs = known.flatMap((pool, index) =>
    known.slice(0, index).map((before) => [pool, before] as const),
  );
  return [
    ...known.flatMap((pool) => [
      ...strangers(pool, 'balancers', pool.balancers, 'balancers', section(balancers)),
      ...strangers(pool, 'select.providers', pool.providers, 'providers', section(providers)),
      ...sameExternal(pool),
    ]),
    ...pairs.flatMap(([pool, before]) => [...sameUid(pool, before), ...sameBinds(pool, before)]),
  ];
}

interface PoolSketch {
  readonly name: string;
  readonly uid: string;
  readonly balancers: readonly string[];
  readonly providers: readonly string[];
  readonly addresses: readonly string[];
  readonly ports: readonly { readonly name: string; readonly external: number }[];
}

const readPools = (pools: Readonly<Record<string, unknown>>, fleet: string): PoolSketch[] =>
  Object.entries(pools).map(([name, value]) => {
    const { uid, balancers, select, addresses, ports } = section(value);
    return {
      name,
      uid: uidOf(name, typeof uid === 'string' ? uid : undefined, fleet),
      balancers: texts(balancers),
      providers: texts(section(select)['providers']),
      addresses: texts(addresses).flatMap((address) => canonicalAddress(address) ?? []),
      ports: Object.entries(section(ports)).flatMap(([port, of]) => {
        const { external } = section(of);
        return typeof external === 'number' ? [{ name: port, external }] : [];
      }),
    };
  });

function strangers(
  { name }: PoolSketch,
  key: string,
  named: readonly string[],
  where: string,
  there: Readonly<Record<string, unknown>>,
): PoolFault[] {
  const known = Object.keys(there);
  const what = known.length === 0 ? `${where} has none` : `${where} has ${known.join(', ')}`;
  return named
    .filter((each) => !known.includes(each))
    .map((each) => ({
      path: ['pools', name, ...key.split('.')],
      message: `names ${JSON.stringify(each)}, but ${what}; configure it there, or give another name`,
    }));
}

const sameExternal = ({ name, ports }: PoolSketch): PoolFault[] =>
  ports.flatMap((port, index) =>
    ports
      .slice(0, index)
      .filter(({ external }) => external === port.external)
      .map((before) => ({
        path: ['pools', name, 'ports', port.name, 'external'],
        message: `is ${port.external}, as pools.${name}.ports.${before.name}.external is; give one of them another port`,
      })),
  );

/** Others compare tags and marks, perhaps without case. */
const sameUid = (pool: PoolSketch, before: PoolSketch): PoolFault[] =>
  pool.uid.toLowerCase() === before.uid.toLowerCase()
    ? [
        {
          path: ['pools', pool.name, 'uid'],
          message: `is ${pool.uid}, as that of pools.${before.name} is; give each pool a uid of its own`,
        },
      ]
    : [];

function sameBinds(pool: PoolSketch, before: PoolSketch): PoolFault[] {
  const balancer = pool.balancers.find((name) => before.balancers.includes(name));
  if (balancer === undefined) return [];
  return pool.addresses.flatMap((address) => {
    const other = before.addresses.find((each) => meets(address, each));
    if (other === undefined) return [];
    return pool.ports.flatMap((port) =>
      before.ports
        .filter(({ external }) => external === port.external)
        .map((twin) => ({
          path: ['pools', pool.name, 'ports', port.name, 'external'],
          message:
            `is ${port.external} at ${address}, which pools.${before.name}.ports.${twin.name}.external ` +
            `is too${other === address ? '' : ` at ${other}`}, both on balancer ${balancer}; ` +
            'give one of them another port, address or balancer',
        })),
    );
  });
}

/** Two listeners on one port conflict if they have one address, or a wildcard. */
const meets = (one: string, other: string): boolean =>
  one === other ||
  one === '::' ||
  other === '::' ||
  ([one, other].includes('0.0.0.0') && familyOf(one) === familyOf(other));

const section = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
