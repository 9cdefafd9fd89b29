import { expect } from 'vitest';
import { testRows } from '../../support/rows.ts';
import { install, INSTALL_MS, logOf, nameOf, rename, reset } from './fault-steps.ts';
import { type Robot, startRobot } from './harness.ts';

/** The effect of each fault, which ends with its rule. The driver's tests show the others. */
const FAULTS: Readonly<Record<string, (robot: Robot) => Promise<void>>> = {
  'another set grabs the name': async (robot) => {
    robot.fault({ type: 'nameTaken', name: 'other-a' });
    const shown = (await rename(robot)).body as { server: { server_name: string } };
    expect(shown.server.server_name).toBe('shep-a');
    expect(await nameOf(robot)).toBe('other-a');
    await rename(robot, 'shep-b');
    expect(await nameOf(robot)).toBe('shep-b');
  },
  'a reset is acknowledged, and nothing happens': async (robot) => {
    robot.fault({ type: 'reset', does: 'ignored' }, { times: 1 });
    expect((await reset(robot)).status).toBe(200);
    expect(robot.machine()).toMatchObject({ phase: 'disk', resets: [] });
    await reset(robot);
    expect(robot.machine().phase).toBe('post');
  },
  'the rescue system lets in a foreign key, or none': async (robot) => {
    for (const does of ['foreign', 'none'] as const) {
      robot.fault({ type: 'rescueKeys', does }, { times: 1 });
      const key = await robot.rescue();
      expect(robot.machine().phase).toBe('rescue');
      await expect(robot.shell(key, 'true')).rejects.toThrow(/authentication/);
    }
    expect((await robot.shell(await robot.rescue(), 'true')).code).toBe(0);
  },
  'SSH lets in, and the command hangs': async (robot) => {
    const key = await robot.rescue();
    robot.fault({ type: 'commandHangs' }, { times: 1 });
    const hanging = robot.shell(key, 'true');
    let isOver = false;
    const over = hanging.catch(() => void (isOver = true));
    await expect.poll(() => robot.fake.faults()[0]?.applied).toBe(1);
    expect((await robot.shell(key, 'true')).code).toBe(0);
    expect(isOver).toBe(false);
    await reset(robot);
    await over;
    expect(isOver).toBe(true);
  },
  'installimage fails, hangs, or prints the marker and fails': async (robot) => {
    const key = await robot.rescue();
    const fault = (does: 'fails' | 'hangs' | 'marksAndFails') =>
      robot.fault({ type: 'installimage', does }, { times: 1 });
    fault('fails');
    await install(robot, key);
    await robot.fake.advance(INSTALL_MS);
    expect(await logOf(robot, key)).toMatch(/An error occurred[^]*\n1\n$/);
    fault('marksAndFails');
    await install(robot, key);
    await robot.fake.advance(INSTALL_MS);
    expect(await logOf(robot, key)).toMatch(/MARKER\n[^]*An error occurred[^]*\n1\n$/);
    expect(Object.values(robot.machine().drives)).toEqual(['nothing', 'nothing']);
    fault('hangs');
    await robot.shell(key, 'rm /root/status');
    await install(robot, key);
    await robot.fake.advance(10 * INSTALL_MS);
    expect(await logOf(robot, key)).toBe('');
    await install(robot, key);
    await robot.fake.advance(INSTALL_MS);
    expect(await logOf(robot, key)).toMatch(/MARKER\nINSTALLATION COMPLETE[^]*\n0\n$/);
  },
};

testRows(Object.entries(FAULTS))('shows %s', async (_name, proof) => {
  await proof(await startRobot());
});
