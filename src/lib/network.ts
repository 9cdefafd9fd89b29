/**
 * What counts as one caller: an IPv4 address, and the /64 of an IPv6 address, since whoever has one
 * of those has them all.
 */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped) return mapped[1]!;
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.replace(/%.*$/, '').toLowerCase().split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0');
  const groups = [...left, ...(tail === undefined ? [] : zeros), ...right];
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`;
}

/**
 * A page of another site can point its own name at our address (DNS rebinding), but it cannot make
 * the browser send another Host. Names are therefore a closed list, and `localhost` is one of them; an
 * address is no name, so any address is accepted.
 */
export function createHostCheck(names: readonly string[]): (header: string | undefined) => boolean {
  const known = new Set(['localhost', ...names.map((name) => name.toLowerCase())]);
  return (header) => {
    const { name, address } = partsOf(header);
    return address !== undefined || (name !== undefined && known.has(name.toLowerCase()));
  };
}

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;

/** What a Host header names, without port. Neither part of one that is no such thing. */
function partsOf(header = ''): { readonly name?: string; readonly address?: string } {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(header);
  const [, bracketed, plain] = match ?? [];
  if (bracketed !== undefined) return { address: bracketed };
  if (plain === undefined) return {};
  return IPV4.test(plain) ? { address: plain } : { name: plain };
}
