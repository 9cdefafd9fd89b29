import type { EmulatorCommand } from '../kit/command.ts';

export const latitude: EmulatorCommand = {
  name: 'latitude',
  description: 'Emulate the API of Latitude.sh',
  addOptions: () => undefined,
  async start(common) {
    const { startLatitudeEmulator } = await import('./emulator.ts');
    const fake = await startLatitudeEmulator(common);
    const { url, token, project, reservedProject, adminUrl, adminToken } = fake;
    return {
      line: { url, token, project, reservedProject, adminUrl, adminToken },
      close: fake.close,
    };
  },
};
