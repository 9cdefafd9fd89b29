import type { EmulatorCommand } from '../kit/command.ts';

interface RobotFlags {
  readonly servers: number;
  readonly freePrefix: string;
  readonly sshPort: number;
}

export const hetznerRobot: EmulatorCommand = {
  name: 'hetzner-robot',
  description: 'the Hetzner Robot web service, with servers and their rescue systems behind it',
  addOptions: (command, { wholeNumber }) =>
    command
      .option('--servers <n>', 'how many servers there are', wholeNumber(1, 2_000), 1)
      .option('--free-prefix <text>', 'names of servers begin so', 'free-')
      .option('--ssh-port <port>', 'of every machine; 0: a free one', wholeNumber(0, 65_535), 0),
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
