import { beforeEach, expect, test } from 'vitest';
import { ProviderError } from '../../../../src/domain/errors.ts';
import { ladderRow } from '../../../support/facts.ts';
import { advance } from '../../../doubles/simulated-clock.ts';
import { MINUTE, setStage, stage, stand } from './stage.ts';

/** A graceful reboot was ordered: the system shuts down after three minutes and stays off. */

const QUARANTINE = { kind: 'byOperator', reason: 'a fan', untilMs: null, cause: null } as const;
const OFF = ['reboot graceful'];
const ON = 'power on';

setStage();
beforeEach(async () => {
  stand.isGraceful = true;
  stand.host.unreachable = true;
  stage.silent('boot-1', { recovery: ladderRow({}) });
  await stage.order('reboot');
});

async function shutsDown() {
  const { result } = stage.attempt();
  await advance(stand.clock, 3 * MINUTE);
  stand.power = 'off';
  return async () => {
    Object.assign(stand.host, { bootId: 'another', unreachable: false });
    await advance(stand.clock, MINUTE);
    expect(await result).toMatchObject({ outcome: 'done' });
  };
}

test('the machine is switched on after a minute, once', async () => {
  const comesUp = await shutsDown();
  await advance(stand.clock, 0.8 * MINUTE);
  expect(stage.deeds(), 'it may still be on its way').toEqual(OFF);
  await advance(stand.clock, 0.5 * MINUTE);
  expect(stage.deeds()).toEqual([...OFF, ON]);
  stand.power = 'off';
  await advance(stand.clock, 4 * MINUTE);
  expect(stage.deeds(), 'a second press would switch it off').toEqual([...OFF, ON]);
  await comesUp();
});

test.each([
  ['is under a hold', () => stage.hold('no-recover')],
  ['is in quarantine', () => stand.given({ ...stand.row(), quarantine: QUARANTINE })],
  ['is off only now and then', () => void (stand.power = 'unknown')],
])('a machine stays off that %s', async (_, change) => {
  const comesUp = await shutsDown();
  await advance(stand.clock, 0.5 * MINUTE);
  change();
  await advance(stand.clock, 0.3 * MINUTE);
  stand.power = 'off';
  await advance(stand.clock, 0.8 * MINUTE);
  expect(stage.deeds()).toEqual(OFF);
  await comesUp();
});

test('a machine stays off whose power cannot be switched', async () => {
  stand.lacks = ['power'];
  const comesUp = await shutsDown();
  await advance(stand.clock, 4 * MINUTE);
  expect(stage.deeds()).toEqual(OFF);
  await comesUp();
});

test('the wait goes on when the machine cannot be switched on', async () => {
  const comesUp = await shutsDown();
  stand.setPower = () => Promise.reject(new ProviderError('transient', 'it is busy'));
  await advance(stand.clock, 6 * MINUTE);
  expect(stage.deeds()).toEqual([...OFF, ON, ON, ON]);
  await comesUp();
});
