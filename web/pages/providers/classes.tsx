import type { Provider } from '../../api/types.ts';
import { Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { texts } from '../../texts.ts';

/** Number of slots by plan and location in the last listing. */
export const Classes = ({ classes }: Pick<Provider, 'classes'>) => (
  <Panel title={texts.providers.classes}>
    {classes.length === 0 ? (
      <p className="quiet">{texts.providers.noClasses}</p>
    ) : (
      <Table
        label={texts.providers.classes}
        columns={texts.providers.classColumns}
        figures={[2, 3, 4, 5]}
      >
        {classes.map(({ plan, location, ...counts }) => (
          <tr key={`${plan} ${location}`}>
            <th scope="row">{plan}</th>
            <td>{location ?? texts.none}</td>
            {[counts.free, counts.used, counts.foreign, counts.unclear].map((count, at) => (
              <td key={texts.providers.classColumns[at + 2]} className="number">
                {texts.figure(count)}
              </td>
            ))}
          </tr>
        ))}
      </Table>
    )}
  </Panel>
);
