import { describe, expect, it } from 'vitest';
import { signedHeaders } from '../../../src/adapters/webhooks/http-sender.ts';
import { signingSecretOf } from '../../../src/domain/events/retries.ts';

// Published with the Standard Webhooks libraries. The second signature comes from the example in
// the specification itself.
const MESSAGE = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestamp: 1_614_265_330,
  body: '{"test": 2432232314}',
};
const HMAC = `whsec_${'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'}`;
const ED25519 = `whsk_${'6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=='}`;
const SIGNED_V1 = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
const SIGNED_V1A =
  'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==';

describe('V57 signatures', () => {
  it('equal the published Standard Webhooks examples for either kind of key', () => {
    expect(signedHeaders(MESSAGE, [HMAC])).toEqual({
      'webhook-id': MESSAGE.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': SIGNED_V1,
    });
    expect(signedHeaders(MESSAGE, [ED25519])['webhook-signature']).toBe(SIGNED_V1A);
    const seed = `whsk_${Buffer.from(ED25519.slice(5), 'base64').subarray(0, 32).toString('base64')}`;
    expect(signedHeaders(MESSAGE, [seed])['webhook-signature']).toBe(SIGNED_V1A);
  });

  it('require a valid secret', () => {
    const of = (prefix: string, bytes: number) =>
      `${prefix}${Buffer.alloc(bytes, 1).toString('base64')}`;
    for (const good of [of('whsec_', 24), of('whsec_', 64), of('whsk_', 32), of('whsk_', 64)]) {
      expect(signingSecretOf(good), good).not.toBeNull();
    }
    for (const bad of [
      ...[of('whsec_', 23), of('whsec_', 65), of('whsk_', 33), of('whpk_', 32), of('', 32)],
      ...['', 'whsec_', 'whsec_=', `${of('whsec_', 24)}!`],
    ]) {
      expect(signingSecretOf(bad), bad).toBeNull();
    }
  });
});
