/**
 * IP addresses in the one form in which they are compared: IPv4 as four plain numbers, IPv6 in small
 * letters with its longest row of zeros left out (RFC 5952), and IPv4 written as IPv6 as the IPv4 that
 * it is. Null: it is none, has a port or a zone, or is written in a way that readers understand
 * differently, such as `010.0.0.1`.
 */
export function canonicalAddress(text: string): string | null {
  if (!text.includes(':')) return isIpv4(text) ? text : null;
  const url = /^[0-9a-f:.]+$/i.test(text) ? `http://[${text}]/` : '';
  if (!URL.canParse(url)) return null;
  const v6 = new URL(url).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(v6) ?? [];
  if (high === undefined || low === undefined) return v6;
  const halves = [high, low].map((half) => parseInt(half, 16));
  return halves.flatMap((half) => [half >> 8, half & 255]).join('.');
}

const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const IPV4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`);
const isIpv4 = (text: string): boolean => IPV4.test(text);

export type Family = 'ipv4' | 'ipv6';

/** Of an address in canonical form. */
export const familyOf = (address: string): Family => (address.includes(':') ? 'ipv6' : 'ipv4');
