import { expect } from 'vitest';
import type { FleetCall } from '../../src/adapters/provider/port.ts';
import type { ProviderMachine } from '../../src/domain/machine.ts';
import { allRefused, type Scene, UNKNOWN_ID, WITNESS } from './provider-scene.ts';

/** How calls end that do not come to their own end. */
export function endsContract(scene: Scene): void {
  const { live, orderFor, provider } = scene;

  /** Every kind of call that the driver supports. */
  function calls(options: FleetCall, unused: ProviderMachine): Promise<unknown>[] {
    const can = provider().capabilities;
    return [
      provider().listMachines(options),
      provider().getMachine(UNKNOWN_ID, options),
      provider().createMachine(orderFor(unused), options),
      provider().findByWitness(WITNESS, unused.reservationId ?? unused.id!, options),
      ...(can.reboot ? [provider().rebootMachine(UNKNOWN_ID, 'graceful', options)] : []),
      ...(can.deprovision ? [provider().deprovisionMachine(UNKNOWN_ID, options)] : []),
      ...(can.reinstall ? [provider().reinstallMachine(UNKNOWN_ID, options)] : []),
      ...(can.power ? [provider().setPower(UNKNOWN_ID, 'off', options)] : []),
      ...(can.tags ? [provider().setTags(UNKNOWN_ID, {}, options)] : []),
    ];
  }
  const anyUnused = () =>
    scene.without.includes('making') ? scene.firstOfStock() : scene.firstFree();

  scene.test('an aborted call ends with aborted and changes nothing', ['hanging'], async () => {
    const unused = await anyUnused();
    const before = scene.stand().deviceCount();
    const { reached } = scene.hang();
    const controller = new AbortController();
    const asked = calls({ signal: controller.signal }, unused);
    const ended = allRefused(asked, 'aborted');
    await reached;
    controller.abort();
    await ended;
    expect(scene.stand().deviceCount()).toBe(before);
  });

  scene.test('a call that was aborted before it began does nothing', [], async () => {
    const unused = await anyUnused();
    const before = scene.stand().deviceCount();
    await allRefused(calls({ signal: AbortSignal.abort() }, unused), 'aborted');
    expect(scene.stand().deviceCount()).toBe(before);
  });

  scene.test('a call ends at its deadline', ['hanging'], async () => {
    const unused = await anyUnused();
    scene.hang();
    await allRefused(calls({ ...live, timeoutMs: 100 }, unused), 'aborted');
  });

  scene.test('a stop ends what is under way', ['hanging'], async () => {
    const unused = await anyUnused();
    const before = scene.stand().deviceCount();
    const { reached } = scene.hang();
    const asked = calls(live, unused);
    const ended = allRefused(asked, 'aborted', 'stopped');
    await reached;
    await provider().stop();
    await ended;
    expect(scene.stand().deviceCount()).toBe(before);
  });

  scene.test('after stop every call is refused; stopping twice is fine', [], async () => {
    const unused = await anyUnused();
    await provider().stop();
    await provider().stop();
    await allRefused(calls(live, unused), 'stopped');
  });
}
