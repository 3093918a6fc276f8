const preference = 'model-gateway-theme';
const themes = ['auto', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];

/** What the reader chose in this browser; `auto` follows the system. */
export function theme(): Theme {
  const chosen = localStorage.getItem(preference);
  return themes.find((name) => name === chosen) ?? 'auto';
}

export function applyTheme(): void {
  const chosen = theme();
  if (chosen === 'auto') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = chosen;
}

export function nextTheme(): Theme {
  const next = themes[(themes.indexOf(theme()) + 1) % themes.length] ?? 'auto';
  localStorage.setItem(preference, next);
  applyTheme();
  return next;
}
