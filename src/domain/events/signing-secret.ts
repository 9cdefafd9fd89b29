/** How secrets of webhooks are written, as Standard Webhooks has it. */
const KINDS = {
  /** For HMAC-SHA256, signature `v1`. */
  whsec_: { leastBytes: 24, mostBytes: 64, kind: 'hmac' },
  /** The secret key of a pair for ed25519, signature `v1a`: 32 bytes, or with the public key behind it. */
  whsk_: { leastBytes: 32, mostBytes: 64, kind: 'ed25519' },
} as const;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export interface SigningSecret {
  readonly kind: 'hmac' | 'ed25519';
  readonly base64: string;
}

/** Null: it is none. */
export function signingSecretOf(text: string): SigningSecret | null {
  const [, prefix, base64] = /^(whsec_|whsk_)(.+)$/.exec(text.trim()) ?? [];
  if (base64 === undefined || !BASE64.test(base64)) return null;
  const { leastBytes, mostBytes, kind } = KINDS[prefix as keyof typeof KINDS];
  const bytes = (base64.length / 4) * 3 - (/=*$/.exec(base64)?.[0].length ?? 0);
  const isLong = kind === 'ed25519' ? bytes === leastBytes || bytes === mostBytes : true;
  return isLong && bytes >= leastBytes && bytes <= mostBytes ? { kind, base64 } : null;
}
