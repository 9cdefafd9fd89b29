import { useStore } from '../live/store.ts';
import { texts } from '../texts.ts';
import { choose, theme, THEMES, type Theme } from './theme.ts';

export function ThemeChoice() {
  const chosen = useStore(theme);
  return (
    <label className="theme">
      <span className="spoken">{texts.theme.label}</span>
      <select value={chosen} onChange={({ target }) => choose(target.value as Theme)}>
        {THEMES.map((name) => (
          <option key={name} value={name}>
            {texts.theme[name]}
          </option>
        ))}
      </select>
    </label>
  );
}
