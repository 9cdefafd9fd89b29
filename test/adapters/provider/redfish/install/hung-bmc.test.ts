import { expect, test } from 'vitest';
import { failureOf } from '../stand.ts';
import { startInstalls } from './stand.ts';

const MINUTE = 60_000;

test('a BMC that hangs is not restarted while a machine behind it is being installed', async () => {
  const rack = await startInstalls({ install: { window: '4h' }, settings: { bmcReset: true } });
  await rack.prepare();
  await rack.after(2 * MINUTE);
  await rack.create();
  await rack.fault({ type: 'bmcHangs' });
  await rack.after(60 * MINUTE);
  const id = 'system-1.11112222';
  expect((await rack.get(id)).controller).toMatchObject({ hangs: true });
  const restarted = rack.inTime(rack.provider.resetController!(id, rack.call()));
  expect(await failureOf(restarted)).toMatchObject({
    kind: 'conflict',
    text: expect.stringContaining('is being installed') as string,
  });
  expect(rack.sent('POST').filter(({ route }) => route.endsWith('Manager.Reset'))).toEqual([]);
});
