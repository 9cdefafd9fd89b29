import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRedact } from '../../../../src/adapters/kit/redact.ts';
import { errorOf } from '../../../../src/adapters/provider/redfish/client/errors.ts';
import { readReply } from '../../../../src/adapters/provider/redfish/client/replies.ts';
import { systemOf } from '../../../../src/adapters/provider/redfish/client/system.ts';
import { explain, isProviderError } from '../../../../src/domain/errors.ts';

const SECRET = 'correct-horse-battery';
const redact = createRedact([], [SECRET]);
const body = fc.oneof(
  fc.string(),
  fc.json(),
  fc.json().map((json) => `{"error":{"@Message.ExtendedInfo":${json}}}`),
  fc.json().map((json) => `{"Id":"1","Boot":${json},"Actions":${json},"Links":${json}}`),
  fc.json().map((json) => `{"error":{"message":"${SECRET}","code":${json}}}`),
);
const header = fc.option(fc.string(), { nil: undefined });
const headers = fc.record({ 'retry-after': header, date: header, etag: header });

test('any answer is an error of the port or a system: no secret is shown, and nothing is gone', () => {
  fc.assert(
    fc.property(body, headers, fc.integer({ min: 100, max: 599 }), (text, told, status) => {
      const reply = readReply({ status, headers: told, text }, '/redfish/v1/Systems/1', redact);
      const error = errorOf(reply, { doing: 'GET', changing: true, nowMs: 0 });
      expect(explain(error)).not.toContain(SECRET);
      expect(error.kind).not.toBe('not-found');
      try {
        expect(systemOf(reply).id).not.toBe('');
      } catch (failure) {
        if (!isProviderError(failure)) throw failure;
        expect(failure.kind).toBe('permanent');
      }
    }),
    { numRuns: 300 },
  );
});
