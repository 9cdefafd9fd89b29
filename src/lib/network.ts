/**
 * The part of an address that counts as one caller: an IPv4 address, or an IPv6 address's /64,
 * whose holder has all of it.
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
 * Protects against DNS rebinding: another site can point its name at our address, but cannot make
 * the browser send another Host. So names are a closed list that includes `localhost`; any address
 * is accepted, because an address is no name.
 */
export function createHostCheck(names: readonly string[]): (header: string | undefined) => boolean {
  const known = new Set(['localhost', ...names.map((name) => name.toLowerCase())]);
  return (header) => {
    const { name, address } = partsOf(header);
    return address !== undefined || (name !== undefined && known.has(name.toLowerCase()));
  };
}

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;

/** The name or address in a Host header, without port; neither if the header is malformed. */
function partsOf(header = ''): { readonly name?: string; readonly address?: string } {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(header);
  const [, bracketed, plain] = match ?? [];
  if (bracketed !== undefined) return { address: bracketed };
  if (plain === undefined) return {};
  return IPV4.test(plain) ? { address: plain } : { name: plain };
}
