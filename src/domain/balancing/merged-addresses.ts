/** External addresses of a pool, each with the ports under which clients find it there. */
export type Addresses = ReadonlyMap<string, readonly number[]>;

/**
 * Where clients find a pool whichever of its balancers they come to: a port counts only if every one
 * of them has it, an address only if a port of it is left. One that cannot be read has none.
 */
export function mergedAddresses(balancers: readonly Addresses[]): Addresses {
  const [first, ...others] = balancers;
  const merged = new Map<string, readonly number[]>();
  for (const [address, ports] of first ?? []) {
    const left = ports.filter((port) =>
      others.every((other) => other.get(address)?.includes(port) === true),
    );
    if (left.length > 0) merged.set(address, left);
  }
  return merged;
}
