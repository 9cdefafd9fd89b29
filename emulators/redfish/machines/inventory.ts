import type { SimulatedHosts } from '../../hosts/options.ts';
import type { RedfishEmulator } from '../options.ts';

/**
 * The inventory of a running rack for the driver `redfish`: each system by its serial number, in
 * order.
 * @param withHostKeys for machines that are never reinstalled.
 */
export function inventoryOf(
  fake: Pick<RedfishEmulator, 'bmcs'>,
  hosts: Pick<SimulatedHosts, 'list'>,
  withHostKeys: boolean,
) {
  const places = new Map(hosts.list().map((host) => [host.deviceId, host]));
  return fake.bmcs().flatMap(({ url, certSha256, systems }) =>
    systems.map(({ name, path, serial, uuid, mac }) => {
      const place = places.get(name);
      if (!place) throw new Error(`there is no machine behind ${name}`);
      const { address, port, hostKey } = place;
      return {
        ID: serial,
        Bmc: url,
        System: path,
        CertSha256: certSha256,
        Serial: serial,
        Uuid: uuid,
        Mac: mac,
        Addr: address,
        SshPort: port,
        ...(withHostKeys && { HostKey: `ssh-ed25519 ${hostKey}` }),
      };
    }),
  );
}
