import { createFakeHost, createFakeShell } from '../../doubles/fake-shell.ts';
import { outputBytesMax } from '../../../src/adapters/ssh/limits.ts';
import { LIMIT_MS, shellContract } from '../../contracts/shell.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { startSimulatedStand } from './simulated-stand.ts';

shellContract('ssh2 over loopback', startSimulatedStand);

shellContract('fake', async () => {
  const target = (port: number) => ({ host: 'machine', port, username: 'root' });
  const open = createFakeHost({
    run: ([program, ...args]) => {
      if (program === 'prints')
        return { stdout: Buffer.from(args.map((arg) => `${arg}\n`).join('')) };
      if (program === 'fails') return { stderr: Buffer.from('broken'), exitCode: 3 };
      if (program === 'floods') return { stdout: Buffer.alloc(outputBytesMax + 1) };
      return new Promise(() => undefined);
    },
  });
  const hosts = new Map([
    ['machine:1', open],
    ['machine:2', createFakeHost({ hostKey: 'b3RoZXI=' })],
    ['machine:3', createFakeHost({ refusesKey: true })],
    ['machine:4', createFakeHost({ hangs: 'handshake' })],
  ]);
  const limits = { handshakeMs: LIMIT_MS, executeMs: LIMIT_MS };
  const clock = createSimulatedClock();
  return {
    clock,
    shell: createFakeShell({ hosts, clock, limits }),
    open: target(1),
    openHostKey: open.hostKey,
    other: target(2),
    strict: target(3),
    silent: target(4),
    absent: target(5),
    programs: {
      printsArguments: ['prints'],
      fails: ['fails'],
      hangs: ['hangs'],
      floods: ['floods'],
    },
    readBack: async (path) => {
      const found = open.files.get(path);
      return found && { content: found.content, mode: found.mode };
    },
    reboot: async () => {
      open.bootId = '00000000-0000-4000-8000-000000000002';
    },
    close: async () => undefined,
  };
});
