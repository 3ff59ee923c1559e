# Writes a .cpp that holds text files as constants. Run as a script:
#   cmake -DLAYER=topology -DOUT=f.cpp -DFILES="name=path;…" -P EmbedText.cmake
# Defines `extern const EmbeddedText kEmbeddedTexts[]` of the layer (see its embedded.hpp), ended by a null name.
set(body "#include \"${LAYER}/embedded.hpp\"\n\nnamespace kernbench::${LAYER} {\nconst EmbeddedText kEmbeddedTexts[] = {\n")
foreach(pair ${FILES})
  string(REPLACE "=" ";" pair "${pair}")
  list(GET pair 0 name)
  list(GET pair 1 path)
  file(READ ${path} text)
  string(APPEND body "{\"${name}\", R\"yaml(${text})yaml\"},\n")
endforeach()
string(APPEND body "{nullptr, nullptr}};\n}  // namespace kernbench::${LAYER}\n")
file(WRITE ${OUT} "${body}")
