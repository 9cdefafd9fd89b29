import type { EmulatorCommand } from '../kit/command.ts';

interface RobotFlags {
  readonly servers: number;
  readonly freePrefix: string;
  readonly sshPort: number;
}

export const hetznerRobot: EmulatorCommand = {
  name: 'hetzner-robot',
  description: 'Emulate the Hetzner Robot web service, its servers and their rescue systems',
  addOptions: (command, { wholeNumber }) =>
    command
      .option('--servers <n>', 'Number of servers', wholeNumber(1, 2_000), 1)
      .option('--free-prefix <text>', 'Prefix of the names of free servers', 'free-')
      .option(
        '--ssh-port <port>',
        'SSH port of every machine. 0: a free port for each',
        wholeNumber(0, 65_535),
        0,
      ),
  async start(common, own) {
    const { startRobotEmulator } = await import('./emulator.ts');
    const fake = await startRobotEmulator({ ...common, ...(own as unknown as RobotFlags) });
    const { url, credentials, sshPort, adminUrl, adminToken } = fake;
    const servers = fake
      .servers()
      .map(({ number, name, address, wwns }) => ({ number, name, address, wwns }));
    return {
      line: { url, credentials, sshPort, servers, adminUrl, adminToken },
      close: fake.close,
    };
  },
};
